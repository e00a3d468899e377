"""Trades as a parser outside reads them: each value is looked for on the page."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final, cast

from docmill.core.fields import ValueKind
from docmill.core.plugins import Tools
from docmill.reading.labels import fold
from docmill.reading.numbers import currency_code
from docmill.reading.pages import Value
from docmill.trades.fields import FIELDS, TradeField
from docmill.trades.reader.blocks import find_anchors
from docmill.trades.reader.facts import is_cusip, is_isin
from docmill.trades.reader.rows import (
    FoundTrade,
    FoundTrades,
    NoteRow,
    NoteSheet,
    format_decimal,
    make_value,
)

PARSER: Final = "parse_trades"
MODEL: Final = "complete"
SEEN: Final = 0.9
UNSEEN: Final = 0.3  # told, but found nowhere on the page: a person shall look
GUESSED: Final = 0.7  # a word for what the page shows, such as the kind of a security
MOST: Final = 500


def ask_parser(tools: Tools, sheet: NoteSheet) -> FoundTrades:
    """What the external parser tells of the document."""
    return read_answer(tools.ask(PARSER, {}), sheet)


def read_answer(answer: Any, sheet: NoteSheet) -> FoundTrades:
    """Trades of an answer, each value with the place it was found in."""
    told = cast("dict[str, Any]", answer).get("trades") if isinstance(answer, dict) else None
    given = cast("list[Any]", told)[:MOST] if isinstance(told, list) else []
    listed = [cast("dict[str, Any]", one) for one in given if isinstance(one, dict)]
    trades = [_check_trade(one, sheet) for one in listed]
    kept = tuple(trade for trade in trades if trade.values.get("direction"))
    return FoundTrades(kept, "" if kept else "The service found no trade in it.")


def _check_trade(given: dict[str, Any], sheet: NoteSheet) -> FoundTrade:
    found = {field.name: _check_value(field, given.get(field.name), sheet) for field in FIELDS}
    return FoundTrade({name: value for name, value in found.items() if value})


def _check_value(field: TradeField, told: Any, sheet: NoteSheet) -> Value | None:
    if told is None or isinstance(told, (dict, list, bool)) or not str(told).strip():
        return None
    text = str(told).strip()[:200]
    match field.kind:
        case ValueKind.AMOUNT:
            return _check_number(text, sheet)
        case ValueKind.DATE:
            return _check_date(text, sheet)
        case ValueKind.ID | ValueKind.CURRENCY:
            return _check_code(field.name, text.upper(), sheet)
        case _ if field.name == "direction":
            return _check_direction(text.lower(), sheet)
        case _:
            return _check_words(field, text, sheet)


def _check_number(text: str, sheet: NoteSheet) -> Value | None:
    try:
        wanted = abs(Decimal(text))
    except InvalidOperation:
        return None
    if not wanted.is_finite():
        return None
    for row in sheet.rows:
        for number in row.numbers:
            if wanted in map(abs, number.readings):
                return make_value(row, number.start, number.end, format_decimal(wanted), SEEN)
    return Value(format_decimal(wanted), UNSEEN)


def _check_date(text: str, sheet: NoteSheet) -> Value | None:
    try:
        wanted = date.fromisoformat(text[:10])
    except ValueError:
        return None
    for row in sheet.rows:
        for day in row.days:
            if day.day == wanted:
                return make_value(row, day.start, day.end, wanted.isoformat(), SEEN)
    return Value(wanted.isoformat(), UNSEEN)


def _check_direction(text: str, sheet: NoteSheet) -> Value | None:
    if text not in {"buy", "sell"}:
        return None
    said = next((one for one in find_anchors(sheet.rows) if one.direction == text), None)
    if said is None:
        return Value(text, UNSEEN)
    return make_value(said.row, 0, len(said.row.text), text, SEEN)


def _check_code(name: str, text: str, sheet: NoteSheet) -> Value | None:
    valid: Mapping[str, Callable[[str], Any]] = {
        "isin": is_isin, "cusip": is_cusip, "currency": currency_code,
    }  # fmt: skip
    if not valid[name](text):
        return None
    for row in sheet.rows:
        at = row.text.find(text)
        if at >= 0:
            return make_value(row, at, at + len(text), text, SEEN)
    signs = {number.currency for row in sheet.rows for number in row.numbers}
    return Value(text, SEEN if name == "currency" and text in signs else UNSEEN)


def _check_words(field: TradeField, text: str, sheet: NoteSheet) -> Value:
    wanted = fold(text)
    for row in _rows_with(sheet.rows, wanted):
        return make_value(row, 0, len(row.text), text, SEEN)
    return Value(text, GUESSED if field.guessed else UNSEEN)


def _rows_with(rows: Sequence[NoteRow], wanted: str) -> Iterator[NoteRow]:
    pattern = re.compile(rf"\b{re.escape(wanted)}\b") if wanted else None
    for row in rows:
        if pattern and pattern.search(row.plain):
            yield row
