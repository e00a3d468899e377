"""Changes of an invoice's JSON by path: what can be changed, and a list of changes replayed.

A path names a value (`totals.net`, `lines[2].amount`) or a line (`lines[2]`). A line that comes
from nothing is put in at its place; one that goes to nothing is taken out, and those behind it
move up.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from docmill.mappings.schema import LINE, PARTY, TOTALS
from docmill.mappings.texts import is_list, is_object

HEAD: Final = ("invoice_number", "issue_date", "due_date", "currency")
RARE: Final = ("exchange_rate", "trx_code")
SUMS: Final = (*TOTALS, "charges", "discounts")
GROUPS: Final = {"seller": PARTY, "buyer": PARTY, "totals": SUMS}
DATES: Final = frozenset({"issue_date", "due_date"})
FIGURES: Final = frozenset({"quantity", "unit_price", "discount", "amount", "tax_rate", *SUMS})
MOST_LINES: Final = 5000
_IN_LINE: Final = re.compile(r"lines\[(\d{1,4})\](?:\.(\w+))?")

_DOTTED: Final = re.compile(r"^lines\.(\d+)")


@dataclass(frozen=True, slots=True)
class Change:
    """`place` is where on the page the new value stands: {"page": 1, "box": [x0, y0, x1, y1]}."""

    path: str
    before: Any
    after: Any
    place: Mapping[str, Any] | None = None


def paths_of(invoice: Mapping[str, Any]) -> Iterator[str]:
    """Every value that this invoice has a place for, in the order in which people look."""
    yield from (*HEAD, *(name for name in RARE if name in invoice))
    for group in GROUPS:
        inside: Any = invoice.get(group)
        yield from (f"{group}.{name}" for name in (inside if is_object(inside) else ()))
    for index, line in enumerate(_lines(invoice)):
        yield from (f"lines[{index}].{name}" for name in (line if is_object(line) else ()))


def bracketed(path: str) -> str:
    """A path as mappings tell it (`lines.2.amount`), written as invoices have it."""
    return _DOTTED.sub(r"lines[\1]", path)


def is_path(path: str) -> bool:
    """Whether something of this name can stand in an invoice."""
    match = _IN_LINE.fullmatch(path)
    if match:
        return match[2] is None or match[2] in LINE
    group, _, name = path.partition(".")
    return path in (*HEAD, *RARE) or name in GROUPS.get(group, ())


def is_line(path: str) -> bool:
    match = _IN_LINE.fullmatch(path)
    return bool(match and match[2] is None)


def kind_of(path: str) -> str:
    """`figure`, `date` or `text`: what a value at this path must be."""
    name = path.rpartition(".")[2]
    if path in DATES:
        return "date"
    return "figure" if name in FIGURES or path == "exchange_rate" else "text"


def value_at(invoice: Mapping[str, Any], path: str) -> Any:
    """The value or the line at a path; None where there is none."""
    match = _IN_LINE.fullmatch(path)
    if match:
        lines, index = _lines(invoice), int(match[1])
        found = lines[index] if index < len(lines) else None
        return found.get(match[2]) if match[2] and is_object(found) else found
    group, _, name = path.partition(".")
    found: Any = invoice.get(group)
    return found.get(name) if name and is_object(found) else None if name else found


def replay(invoice: Mapping[str, Any], changes: Iterable[Change]) -> dict[str, Any]:
    """The invoice after these changes. What was looked at by a person is sure."""
    data: dict[str, Any] = deepcopy(dict(invoice))
    data.setdefault("evidence", {})
    for change in changes:
        if is_line(change.path):
            _move_lines(data, change)
        else:
            _put(data, change)
    return data


def _put(data: dict[str, Any], change: Change) -> None:
    match = _IN_LINE.fullmatch(change.path)
    if match:
        data["lines"][int(match[1])][match[2]] = change.after
    else:
        group, _, name = change.path.partition(".")
        if name:
            data[group] = {**(data.get(group) or {}), name: change.after}
        else:
            data[group] = change.after
    _follow(data, change)
    data["evidence"][change.path] = _seen(change)


def _follow(data: dict[str, Any], change: Change) -> None:
    """The tax's row says the same as the totals, and its base is the net where it was before."""
    taxes = data.get("taxes")
    if not is_list(taxes) or len(taxes) != 1:
        return
    if change.path == "totals.tax":
        taxes[0]["amount"] = change.after
    elif change.path == "totals.net" and taxes[0].get("base") == change.before:
        taxes[0]["base"] = change.after


def _seen(change: Change) -> dict[str, Any]:
    place = change.place or {}
    text = "" if change.after is None else str(change.after)
    return {
        "confidence": 1.0,
        "page": place.get("page"),
        "box": place.get("box"),
        "text": text,
        "edited": True,
    }


def _move_lines(data: dict[str, Any], change: Change) -> None:
    match = _IN_LINE.fullmatch(change.path)
    assert match
    index, lines = int(match[1]), _lines(data)
    line: dict[str, Any] = change.after or {}
    if line:
        lines.insert(index, dict(line))
    elif index < len(lines):
        del lines[index]
    data["lines"] = lines
    data["evidence"] = _renumbered(data["evidence"], index, 1 if line else -1)
    for name, value in line.items():
        path = f"{change.path}.{name}"
        data["evidence"][path] = _seen(Change(path, None, value))


def _renumbered(evidence: Mapping[str, Any], index: int, step: int) -> dict[str, Any]:
    """Evidence of lines behind a place goes with its line; that of a line taken out goes away."""
    moved: dict[str, Any] = {}
    for path, found in evidence.items():
        match = _IN_LINE.fullmatch(path)
        number = int(match[1]) if match else -1
        if match is None or number < index:
            moved[path] = found
        elif step > 0 or number > index:
            moved[f"lines[{number + step}].{match[2]}"] = found
    return moved


def _lines(invoice: Mapping[str, Any]) -> list[Any]:
    lines = invoice.get("lines")
    return lines if is_list(lines) else []
