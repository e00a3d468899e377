"""Edits of the trades of one document: what people type becomes values, or a sentence why not.

A path names a cell (`lines[2].quantity`) or a trade (`lines[2]`) among those that are not rejected.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import Field

from docmill.core.faults import DocmillError
from docmill.core.fields import ValueKind
from docmill.core.texts import strip_invisible
from docmill.jobs.review_shapes import EditError, PlacedEdit
from docmill.reading import dates, numbers
from docmill.trades.fields import FIELDS, NAMES
from docmill.trades.queries import Trade, TradeValue
from docmill.trades.reader.facts import is_cusip, is_isin

LONGEST: Final = 200
MOST_TRADES: Final = 2000
KINDS: Final = {field.name: field.kind for field in FIELDS}
SIDES: Final = {
    **dict.fromkeys(("buy", "b", "bought", "purchase", "kauf", "achat", "compra"), "buy"),
    **dict.fromkeys(("sell", "s", "sold", "sale", "verkauf", "vente", "venta"), "sell"),
}
SIDE: Final = "direction"
_PATH: Final = re.compile(r"lines\[(\d{1,4})\](?:\.([a-z_]{1,40}))?")
_PLAIN: Final = re.compile(r"\d{1,18}(?:\.\d{1,12})?")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")

TradeText = Annotated[str, Field(max_length=LONGEST)]


class TradeEdit(PlacedEdit):
    """A new value. For a trade, an object adds one at the end and null rejects it."""

    path: str = Field(max_length=100, examples=["lines[0].quantity", "lines[2]"])
    value: TradeText | dict[str, TradeText | None] | None = Field(examples=["25"])


@dataclass(slots=True)
class TradeDraft:
    """A trade while it is edited; no `trade`: it is a new one."""

    trade: Trade | None
    values: dict[str, TradeValue]
    evidence: dict[str, Any]
    changed: set[str] = field(default_factory=set[str])
    checked: set[str] = field(default_factory=set[str])
    rejected: bool = False

    @property
    def waits(self) -> bool:
        return bool(self.changed) or self.trade is None or self.trade.review_status == "pending"


def make_draft(trade: Trade) -> TradeDraft:
    return TradeDraft(
        trade, dict(trade.values), dict(trade.raw_extracted_data.get("evidence") or {})
    )


def set_value(
    draft: TradeDraft, name: str, text: str | None, place: Mapping[str, Any] | None = None
) -> None:
    """Change one value, unless it is the same; raises EditError."""
    if name not in NAMES:
        raise EditError("names nothing of a trade", "path")
    value = normalize_value(name, text)
    if value == draft.values.get(name) and not (place and name in draft.evidence):
        return
    draft.values[name] = value
    draft.changed.add(name)
    draft.evidence[name] = {
        "confidence": 1.0,
        "page": (place or {}).get("page"),
        "box": (place or {}).get("box"),
        "text": write_value(value),
        "edited": True,
        "read": _find_read(draft.evidence.get(name)),
    }


def _find_read(seen: Mapping[str, Any] | None) -> float | None:
    """How sure the value was that a person changes; the first one counts."""
    seen = seen or {}
    return seen.get("read") if seen.get("edited") else seen.get("confidence")


def check_values(trades: Iterable[Trade], paths: Sequence[str]) -> list[TradeDraft]:
    """The trades with these values said to be right; raises BAD_REQUEST for one that is empty."""
    live = [make_draft(trade) for trade in trades if trade.review_status != "rejected"]
    mistakes: list[dict[str, str]] = []
    for index, path in enumerate(paths):
        found = _PATH.fullmatch(path)
        at, name = (int(found[1]), found[2]) if found else (-1, None)
        if name in NAMES and at < len(live) and live[at].values[name] is not None:
            live[at].checked.add(name)
            live[at].evidence[name] = {**(live[at].evidence.get(name) or {}), "checked": True}
        else:
            says = "names no value of these trades"
            mistakes.append({"at": f"body.paths.{index}", "message": says})
    if mistakes:
        raise DocmillError("BAD_REQUEST", mistakes=mistakes)
    return [draft for draft in live if draft.checked and draft.waits]


def write_value(value: TradeValue) -> str:
    """A value as the API and the page's scripts have it."""
    if value is None:
        return ""
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def add_draft(drafts: Sequence[TradeDraft], given: Mapping[str, str | None]) -> TradeDraft:
    """A new trade. Where its side is not given it is that of the last one, and to be checked."""
    draft = TradeDraft(None, dict.fromkeys(NAMES), {})
    for name, text in given.items():
        set_value(draft, name, text)
    if SIDE not in draft.changed:
        draft.values[SIDE] = drafts[-1].values[SIDE] if drafts else "buy"
        draft.evidence[SIDE] = {"confidence": 0.0}
    return draft


def try_edits(
    trades: Iterable[Trade], edits: Sequence[TradeEdit]
) -> tuple[list[TradeDraft], dict[int, EditError]]:
    """All trades after these edits, those that were rejected among them last; and what is wrong."""
    live = [make_draft(trade) for trade in trades if trade.review_status != "rejected"]
    gone: list[TradeDraft] = []
    mistakes: dict[int, EditError] = {}
    for index, edit in enumerate(edits):
        try:
            _apply_edit(live, gone, edit)
        except EditError as exc:
            mistakes[index] = exc
    return [*live, *gone], mistakes


def _apply_edit(live: list[TradeDraft], gone: list[TradeDraft], edit: TradeEdit) -> None:
    found = _PATH.fullmatch(edit.path)
    at, name = (int(found[1]), found[2]) if found else (-1, None)
    if name is None and isinstance(edit.value, dict):
        if at != len(live) or at >= MOST_TRADES:
            raise EditError("is no place for a new trade: that is behind the last one", "path")
        live.append(add_draft(live, edit.value))
        return
    if not 0 <= at < len(live):
        raise EditError("names a trade that is not there", "path")
    if name is None and edit.value is None:
        live[at].rejected = True
        gone.append(live.pop(at))
    elif name is None or isinstance(edit.value, dict):
        raise EditError("is a text, or null for nothing")
    else:
        set_value(live[at], name, edit.value, edit.place)


def normalize_value(name: str, text: str | None) -> TradeValue:
    """A value as trades have it; a number or a date may come as documents print them."""
    given = " ".join(strip_invisible(text or "").split())
    if not given:
        if name == SIDE:
            raise EditError("is needed: buy or sell")
        return None
    match KINDS[name]:
        case ValueKind.AMOUNT:
            return _parse_amount(name, given)
        case ValueKind.DATE:
            return _parse_day(given)
        case ValueKind.CURRENCY:
            return _parse_currency(given)
        case ValueKind.ID:
            return _parse_code(name, given)
        case _:
            return _parse_side(given) if name == SIDE else given


def _parse_amount(name: str, text: str) -> Decimal:
    plain = text.removeprefix("+")
    if not _PLAIN.fullmatch(plain):
        found = numbers.find_numbers(text)
        whole = len(found) == 1 and found[0].start == 0 and found[0].end == len(text)
        plain = f"{found[0].value:f}" if whole else ""
    if not _PLAIN.fullmatch(plain):
        negative = plain.startswith("-")
        raise EditError("can't be negative" if negative else "is no number")
    amount = Decimal(plain)
    if name == "quantity" and not amount:
        raise EditError("can't be 0")
    return amount


def _parse_day(text: str) -> date:
    try:
        found = date.fromisoformat(text) if _DAY.fullmatch(text) else dates.read_date(text)
    except ValueError:
        found = None
    if found is None:
        raise EditError("is no date")
    return found


def _parse_currency(text: str) -> str:
    code = text.upper()
    if not re.fullmatch(r"[A-Z]{3}", code):
        raise EditError("is no currency: three letters such as EUR")
    return code


def _parse_code(name: str, text: str) -> str:
    """Codes with a check digit, in which spaces mean nothing."""
    code = text.replace(" ", "").upper()
    shape, check = {
        "isin": (r"[A-Z]{2}[A-Z0-9]{9}[0-9]", is_isin),
        "cusip": (r"[A-Z0-9*@#]{8}[0-9]", is_cusip),
    }[name]
    if not re.fullmatch(shape, code):
        raise EditError(f"is no {name.upper()}")
    if not check(code):
        raise EditError(f"is no {name.upper()}: its check digit does not fit")
    return code


def _parse_side(text: str) -> str:
    side = SIDES.get(text.lower())
    if side is None:
        raise EditError("is neither buy nor sell")
    return side
