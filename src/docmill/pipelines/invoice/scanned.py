"""Values read from pictures: none is surer than the words it was read from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from docmill.pipelines.invoice.model import Invoice, Item, Party, Totals, Value
from docmill.reading.pages import Box, Page, Word

INSIDE: Final = 0.5  # of a word's width: so much in a box is read with it
_Part = TypeVar("_Part", Party, Totals, Item)


def capped(invoice: Invoice, pages: Sequence[Page]) -> Invoice:
    """The invoice, each value at most as sure as OCR was of its least sure word."""
    words = {page.number: page.words for page in pages if page.scanned}
    if not words:
        return invoice
    return replace(
        invoice,
        invoice_number=_capped(invoice.invoice_number, words),
        issue_date=_capped(invoice.issue_date, words),
        due_date=_capped(invoice.due_date, words),
        currency=_capped(invoice.currency, words),
        seller=_each(invoice.seller, words),
        buyer=_each(invoice.buyer, words),
        totals=_each(invoice.totals, words),
        lines=tuple(_each(line, words) for line in invoice.lines),
    )


Words = dict[int, tuple[Word, ...]]


def _each(part: _Part, words: Words) -> _Part:
    changes = {name: _capped(getattr(part, name), words) for name in part.__slots__}
    return replace(part, **changes)


def _capped(value: Value | None, words: Words) -> Value | None:
    if value is None or value.box is None or value.page not in words:
        return value
    box = value.box
    under = [word.confidence for word in words[value.page] if _inside(word.box, box)]
    return value.sure(min([value.confidence, *under]))


def _inside(word: Box, box: Box) -> bool:
    shared = min(word.x1, box.x1) - max(word.x0, box.x0)
    return word.y0 < box.middle < word.y1 and shared > INSIDE * min(word.width, box.width)
