"""What is read from a broker's note: each value with where it stands and how sure it is."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from docmill.pipelines.trades.rows import Row
from docmill.reading.values import Value

FIELDS: Final = (
    "ticker",
    "isin",
    "cusip",
    "name",
    "quantity",
    "price",
    "notional",
    "fees",
    "taxes",
    "settlement_amount",
    "currency",
    "trade_date",
    "settlement_date",
    "counterparty",
    "direction",
    "asset_class",
    "exchange",
)


@dataclass(frozen=True, slots=True)
class Trade:
    """One trade; a field that was not found is missing."""

    values: dict[str, Value] = field(default_factory=dict[str, Value])
    checks: tuple[str, ...] = ()

    def items(self) -> Iterator[tuple[str, Value]]:
        for name in FIELDS:
            if name in self.values:
                yield name, self.values[name]

    def text(self, name: str) -> str:
        return self.values[name].value if name in self.values else ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of a document: its trades, or why there are none."""

    trades: tuple[Trade, ...] = ()
    reason: str = ""
    kind: str = ""


def read_from(row: Row, start: int, end: int, value: str, confidence: float) -> Value:
    """A value with the place of the letters it was read from."""
    box = row.place(start, end)
    return Value(value, round(confidence, 2), row.page, box, row.text[start:end])


def plain(number: Decimal) -> str:
    """A decimal string with a point, no exponent, and no noughts behind the second place."""
    text = f"{number:f}"
    if "." not in text:
        return text
    whole, _, behind = text.partition(".")
    return f"{whole}.{behind[:2]}{behind[2:].rstrip('0')}"
