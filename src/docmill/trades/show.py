"""Trades of a document as people read them, for its page."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from docmill.core.amounts import find_mark, group_thousands
from docmill.core.fields import ValueKind
from docmill.core.shown import Shown, ShownValue
from docmill.trades.fields import FIELDS, TradeField

NUMBERS: Final = frozenset({ValueKind.AMOUNT, ValueKind.NUMBER, ValueKind.INTEGER})


def show_trades(data: Mapping[str, Any]) -> Shown:
    """Each trade is a group of its values; what was not found is left out."""
    trades: Sequence[Mapping[str, Any]] = data.get("trades") or ()
    return Shown([_show_trade(data, trade, index) for index, trade in enumerate(trades)])


def _show_trade(
    data: Mapping[str, Any], trade: Mapping[str, Any], index: int
) -> tuple[str, list[ShownValue]]:
    side = str(trade.get("direction") or "trade").capitalize()
    what = trade.get("name") or trade.get("isin") or trade.get("ticker") or ""
    known = [field for field in FIELDS if trade.get(field.name) not in (None, "")]
    values = [_show_value(data, trade, field, f"trades[{index}].{field.name}") for field in known]
    return f"{side} {what}".strip(), values


def _show_value(
    data: Mapping[str, Any], trade: Mapping[str, Any], field: TradeField, path: str
) -> ShownValue:
    evidence: Mapping[str, Any] = data.get("evidence") or {}
    seen: Mapping[str, Any] = evidence.get(path) or {}
    text, number = str(trade[field.name]), field.kind in NUMBERS
    if number:
        text = group_thousands(text, find_mark(str(trade.get("currency") or "")))
    doubtful = path in (data.get("review") or ())
    return ShownValue(field.label, text, seen.get("page"), seen.get("box"), doubtful, number)
