"""From a sheet to an invoice: candidates collected, then the set taken that fits best."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from docmill.pipelines.invoice import facts
from docmill.pipelines.invoice.amounts import amounts_of
from docmill.pipelines.invoice.bare import bare_lines
from docmill.pipelines.invoice.items import balanced, items_of, resolve
from docmill.pipelines.invoice.labels import phrases_of
from docmill.pipelines.invoice.layout import Sheet
from docmill.pipelines.invoice.lines import Raw, Table, lines_of, proven
from docmill.pipelines.invoice.model import Invoice
from docmill.pipelines.invoice.parties import parties
from docmill.pipelines.invoice.products import with_products
from docmill.pipelines.invoice.sums import taxes_of, totals_of
from docmill.pipelines.invoice.totals import choose
from docmill.reading import dates, numbers

ZERO: Final = Decimal(0)
SUMS: Final = frozenset({"net", "gross", "base"})
_AMERICAN: Final = re.compile(r"\b(?:[A-Z]{2},? \d{5}(?:-\d{4})?|United States|USA)\b")


def _table(sheet: Sheet) -> Table:
    """The lines under headings; where few of them add up, those that do without."""
    named = lines_of(sheet)
    if 2 * proven(named) > len(named.lines):
        return named
    bare = bare_lines(sheet)
    return bare if proven(bare) > proven(named) else named


def _counted(lines: Sequence[Raw], nets: set[Decimal]) -> Sequence[Raw]:
    """The lines; with charges or discounts among them where only so they come to a printed net.

    Where there are both, a sum was changed by them; a discount between lines is of the line above.
    """
    plain = [raw for raw in lines if not raw.extra]
    extras = [raw.figures["amount"].number.value for raw in lines if raw.extra]
    inside = any(raw.extra == "discount" for raw in lines[: len(plain)])
    own = sum((raw.figures["amount"].number.value for raw in plain), ZERO)
    alike = len({value > 0 for value in extras}) == 1 and not inside and len(plain) > 1
    return lines if alike and own not in nets and own + sum(extras) in nets else plain


def marked(sheet: Sheet) -> Sheet:
    """The sheet with how its numbers and dates are to be read."""
    texts = [row.text for row in sheet.rows]
    first = dates.month_first(texts)
    first = first if first is not None else any(_AMERICAN.search(text) for text in texts)
    return replace(sheet, mark=numbers.mark_of(texts), month_first=first)


def read(sheet: Sheet) -> Invoice:
    """The invoice on these pages."""
    sheet = marked(sheet)
    phrases = phrases_of(sheet)
    table = _table(sheet)
    amounts = amounts_of(sheet, table.rows)
    sums = {item.value for item in amounts if item.role in SUMS}
    nets = {item.value for item in amounts if item.role == "net"}
    counted = with_products(sheet, _counted(table.lines, nets))
    lines = balanced([resolve(raw) for raw in counted], sums)
    total = sum((line.amount for line in lines), ZERO) if lines else None
    chosen = choose(amounts, total)
    number = facts.number(sheet, phrases)
    issued = facts.issue_date(sheet, phrases, number)
    seller, buyer = parties(sheet, phrases, table.rows)
    totals = totals_of(chosen, amounts)
    items = items_of(sheet, lines, 0.9 if chosen.lines_fit else 0.6)
    boxes = [v.box for v in (totals.net, totals.tax, totals.gross) if v and v.box]
    return Invoice(
        invoice_number=number,
        issue_date=issued,
        due_date=facts.due_date(sheet, phrases, issued),
        currency=facts.currency(sheet, phrases, boxes),
        seller=seller,
        buyer=buyer,
        totals=totals,
        lines=items,
        taxes=taxes_of(chosen, items),
    )
