"""What is read from an invoice: each value with where it stands and how sure it is."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from docmill.reading.pages import Box

PARTY: Final = ("name", "tax_id", "address")
TOTALS: Final = ("net", "tax", "gross", "withholding", "paid", "due")
ADJUSTMENTS: Final = ("charges", "discounts")  # of the whole invoice, where its sums need them
ITEM: Final = (
    "description",
    "quantity",
    "unit",
    "unit_price",
    "discount",
    "amount",
    "code",
    "tax_rate",
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value as results carry it, and the words it was read from."""

    value: str
    confidence: float
    page: int = 0
    box: Box | None = None
    text: str = ""

    def sure(self, confidence: float) -> "Value":
        return replace(self, confidence=round(confidence, 2))


@dataclass(frozen=True, slots=True)
class Party:
    name: Value | None = None
    tax_id: Value | None = None
    address: Value | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    net: Value | None = None
    tax: Value | None = None
    gross: Value | None = None
    withholding: Value | None = None
    paid: Value | None = None
    due: Value | None = None
    tax_base: Value | None = None
    tax_rate: Value | None = None
    charges: Value | None = None
    discounts: Value | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One line of an invoice."""

    description: Value | None = None
    quantity: Value | None = None
    unit: Value | None = None
    unit_price: Value | None = None
    discount: Value | None = None
    amount: Value | None = None
    code: Value | None = None
    tax_rate: Value | None = None


@dataclass(frozen=True, slots=True)
class Invoice:
    invoice_number: Value | None = None
    issue_date: Value | None = None
    due_date: Value | None = None
    currency: Value | None = None
    seller: Party = field(default_factory=Party)
    buyer: Party = field(default_factory=Party)
    totals: Totals = field(default_factory=Totals)
    lines: tuple[Item, ...] = ()

    def values(self) -> Iterator[tuple[str, Value | None]]:
        """Every field by its path, found or not."""
        for name in ("invoice_number", "issue_date", "due_date", "currency"):
            yield name, getattr(self, name)
        for group, names in (("seller", PARTY), ("buyer", PARTY), ("totals", TOTALS)):
            part = getattr(self, group)
            for name in names:
                yield f"{group}.{name}", getattr(part, name)
        for index, line in enumerate(self.lines):
            for name in ITEM:
                yield f"lines[{index}].{name}", getattr(line, name)


def plain(number: Decimal) -> str:
    """A decimal string with a point, no exponent, no trailing noise."""
    text = f"{number:f}"
    return "0" + text.removeprefix("-")[1:] if text.startswith("-0") and not number else text


def amount(value: Value | None) -> Decimal | None:
    return Decimal(value.value) if value else None
