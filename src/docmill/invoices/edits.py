"""Changes of an invoice's JSON by path: what can be changed, and a list of changes replayed.

A path names a value (`totals.net`, `lines[2].amount`) or a line (`lines[2]`). A line that comes
from nothing is put in at its place; one that goes to nothing is taken out, and those behind it
move up.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import Field

from docmill.core.faults import DocmillError
from docmill.core.json_values import is_list
from docmill.invoices.fields import (
    OF_LINE,
    is_line,
    is_path,
    kind_of,
    lines_of,
    split_path,
    value_at,
)
from docmill.invoices.values import clean, look_up, parse_iso_date, parse_number
from docmill.jobs.review_shapes import EditError, PlacedEdit, make_refusal
from docmill.reading import dates, numbers

MOST_LINES: Final = 5000
LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class Change:
    """`place` is where on the page the new value stands: {"page": 1, "box": [x0, y0, x1, y1]}.

    `checked`: nothing changes; a person looked at the value and says that it is right.
    """

    path: str
    before: Any
    after: Any
    place: Mapping[str, Any] | None = None
    checked: bool = False


def replay(invoice: Mapping[str, Any], changes: Iterable[Change]) -> dict[str, Any]:
    """The invoice after these changes. What was looked at by a person is sure."""
    data: dict[str, Any] = deepcopy(dict(invoice))
    data.setdefault("evidence", {})
    for change in changes:
        _apply_change(data, change)
    return data


def _apply_change(data: dict[str, Any], change: Change) -> None:
    if change.checked:
        seen: Mapping[str, Any] = data["evidence"].get(change.path) or {}
        data["evidence"][change.path] = {**seen, "checked": True}
    elif is_line(change.path):
        _move_lines(data, change)
    else:
        _apply_value(data, change)


def _apply_value(data: dict[str, Any], change: Change) -> None:
    if inside := split_path(change.path):
        index, name = inside
        data["lines"][index][name] = change.after
    else:
        group, _, name = change.path.partition(".")
        data[group] = {**(data.get(group) or {}), name: change.after} if name else change.after
    _follow_tax(data, change)
    data["evidence"][change.path] = _edit_evidence(change)


def _follow_tax(data: dict[str, Any], change: Change) -> None:
    """The tax's row says the same as the totals, and its base is the net where it was before."""
    taxes = data.get("taxes")
    if not is_list(taxes) or len(taxes) != 1:
        return
    if change.path == "totals.tax":
        taxes[0]["amount"] = change.after
    elif change.path == "totals.net" and taxes[0].get("base") == change.before:
        taxes[0]["base"] = change.after


def _edit_evidence(change: Change) -> dict[str, Any]:
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
    inside, lines = split_path(change.path), lines_of(data)
    assert inside
    index, _ = inside
    line: dict[str, Any] = change.after or {}
    if line:
        lines.insert(index, dict(line))
    elif index < len(lines):
        del lines[index]
    data["lines"] = lines
    data["evidence"] = _renumber(data["evidence"], index, 1 if line else -1)
    if is_list(data.get("differences")):
        data["differences"] = _renumber_list(data["differences"], index, 1 if line else -1)
    for name, value in line.items():
        path = f"{change.path}.{name}"
        data["evidence"][path] = _edit_evidence(Change(path, None, value))


def _renumber(evidence: Mapping[str, Any], index: int, step: int) -> dict[str, Any]:
    """Evidence of lines behind a place goes with its line; that of a line taken out goes away."""
    moved: dict[str, Any] = {}
    for path, found in evidence.items():
        number, name = split_path(path) or (-1, "")
        if number < index:
            moved[path] = found
        elif step > 0 or number > index:
            moved[f"lines[{number + step}].{name}"] = found
    return moved


def _renumber_list(found: list[Any], index: int, step: int) -> list[Any]:
    """Differences of values go with their lines in the same way."""
    moved = _renumber({str(one.get("path")): one for one in found}, index, step)
    return [{**one, "path": path} for path, one in moved.items()]


EditText = Annotated[str, Field(max_length=LONGEST)]


class Edit(PlacedEdit):
    """A new value. For a line, an object puts one in at this place and null takes it out."""

    path: str = Field(max_length=100, examples=["totals.net", "lines[2].amount", "lines[3]"])
    value: EditText | dict[str, EditText | None] | None = Field(examples=["1250.00"])


def make_changes(data: Mapping[str, Any], edits: Sequence[Edit]) -> list[Change]:
    """What these edits change, one after the other; all of them can be made, or none is."""
    made, mistakes = try_edits(data, edits)
    if mistakes:
        raise make_refusal(mistakes)
    return made


def try_edits(
    data: Mapping[str, Any], edits: Sequence[Edit]
) -> tuple[list[Change], dict[int, EditError]]:
    """The changes that can be made, without those that change nothing; and what is wrong."""
    current, made, mistakes = replay(data, ()), list[Change](), dict[int, EditError]()
    for index, each in enumerate(edits):
        try:
            change = _make_change(current, each)
        except EditError as exc:
            mistakes[index] = exc
            continue
        if is_line(each.path) or change.before != change.after:
            made.append(change)
            _apply_change(current, change)
    return made, mistakes


def _make_change(data: Mapping[str, Any], each: Edit) -> Change:
    if not is_path(each.path):
        raise EditError("names nothing of an invoice", "path")
    return _change_line(data, each) if is_line(each.path) else _change_value(data, each)


def _change_value(data: Mapping[str, Any], each: Edit) -> Change:
    if isinstance(each.value, dict):
        raise EditError("is a text, or null for nothing")
    inside = split_path(each.path)
    if inside and value_at(data, f"lines[{inside[0]}]") is None:
        raise EditError("names a line that is not there", "path")
    after = normalize_value(each.path, each.value)
    if after is None and clean(each.value):
        raise EditError(f"is no {kind_of(each.path)}")
    return Change(each.path, value_at(data, each.path), after, each.place)


def _change_line(data: Mapping[str, Any], each: Edit) -> Change:
    count, at = len(data.get("lines") or ()), int(each.path[6:-1])
    if each.value is None:
        if at >= count:
            raise EditError("names a line that is not there", "path")
        return Change(each.path, value_at(data, each.path), None)
    if isinstance(each.value, str) or at > count or count >= MOST_LINES:
        raise EditError("is no place for a line, which is an object of values", "path")
    if unknown := sorted(set(each.value) - OF_LINE.keys()):
        raise EditError(f"has unknown names: {', '.join(unknown)}"[:200])
    given = {name: None for name, field in OF_LINE.items() if field.read} | each.value
    line = {name: normalize_value(f"{each.path}.{name}", value) for name, value in given.items()}
    return Change(each.path, None, line)


def make_checks(data: Mapping[str, Any], paths: Sequence[str]) -> list[Change]:
    """That these values are right as they are, those left out of which it is known already.

    What is empty can't be right: all are values of this invoice, or none is taken.
    """
    missing = [at for at, path in enumerate(paths) if not clean(value_at(data, path))]
    if missing:
        says = "names no value of this invoice"
        mistakes = [{"at": f"body.paths.{at}", "message": says} for at in missing]
        raise DocmillError("BAD_REQUEST", mistakes=mistakes)
    evidence: Any = data.get("evidence") or {}
    fresh = [path for path in dict.fromkeys(paths) if not look_up(evidence.get(path), "checked")]
    values = {path: value_at(data, path) for path in fresh}
    return [Change(path, value, value, checked=True) for path, value in values.items()]


def normalize_value(path: str, value: str | None) -> str | None:
    """A value as invoices have it; a figure or a date may come as documents print them."""
    text = clean(value)
    if not text:
        return None
    match kind_of(path):
        case "figure":
            return _normalize_figure(text)
        case "date":
            day = dates.read_date(text)
            return parse_iso_date(text) or (day.isoformat() if day else None)
        case _:
            return text.upper() if path == "currency" else text


def _normalize_figure(text: str) -> str | None:
    if parse_number(text) is not None:
        return text
    found = numbers.find_numbers(text)
    whole = len(found) == 1 and found[0].start == 0 and found[0].end == len(text)
    return f"{found[0].value:f}" if whole else None
