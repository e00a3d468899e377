"""An invoice from XML held against the page: places for what both say, doubt where they differ."""

from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Final, TypeVar

from docmill.pipelines.invoice.lexicon import fold
from docmill.pipelines.invoice.model import Invoice, Item, Party, Totals, Value

DIFFERENT: Final = 0.7
UNSEEN: Final = 0.95
_Part = TypeVar("_Part", Party, Totals, Item)


def agreed(xml: Invoice, page: Invoice) -> Invoice:
    """What the XML says, with the page's places. A value the page contradicts becomes unsure."""
    lines = tuple(_line(line, page.lines) for line in xml.lines)
    return replace(
        xml,
        invoice_number=_same(xml.invoice_number, page.invoice_number),
        issue_date=_same(xml.issue_date, page.issue_date),
        due_date=_same(xml.due_date, page.due_date),
        currency=_same(xml.currency, page.currency),
        seller=_each(xml.seller, page.seller),
        buyer=_each(xml.buyer, page.buyer),
        totals=_each(xml.totals, page.totals),
        lines=lines,
    )


def _each(xml: _Part, page: _Part) -> _Part:
    changes = {name: _same(getattr(xml, name), getattr(page, name)) for name in xml.__slots__}
    return replace(xml, **changes)


def _line(line: Item, others: tuple[Item, ...]) -> Item:
    for other in others:
        if line.amount and other.amount and _equal(line.amount.value, other.amount.value):
            return _each(line, other)
    return line


def _same(xml: Value | None, page: Value | None) -> Value | None:
    if xml is None or page is None:
        return xml.sure(min(xml.confidence, UNSEEN)) if xml else None
    if _equal(xml.value, page.value):
        return replace(xml, page=page.page, box=page.box, text=page.text)
    return xml.sure(DIFFERENT)


def _equal(one: str, other: str) -> bool:
    try:
        return abs(Decimal(one) - Decimal(other)) <= Decimal("0.01")
    except InvalidOperation:
        return fold(one) in fold(other) or fold(other) in fold(one)
