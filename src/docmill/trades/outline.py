"""Trades without where their values stand: for comparing two readings of a note."""

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from docmill.core.comparison import Outline
from docmill.core.fields import ValueKind
from docmill.trades.fields import FIELDS, TradeField

MIDNIGHT: Final = "T00:00:00"


def outline_trades(data: Mapping[str, Any]) -> Outline:
    return outline_values(data.get("trades") or ())


def outline_values(trades: Iterable[Mapping[str, Any]]) -> Outline:
    rows = [
        {field.name: _write(field, trade.get(field.name)) for field in FIELDS} for trade in trades
    ]
    told = [{name: value for name, value in row.items() if value} for row in rows]
    return Outline(rows=told, noun="trades")


def _write(field: TradeField, value: object) -> str:
    if value is None:
        return ""
    if field.kind is not ValueKind.AMOUNT:
        return str(value).removesuffix(MIDNIGHT).strip()
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
