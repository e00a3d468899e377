"""From a sheet to an invoice: candidates collected, then the set taken that fits best."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from docmill.core.plugins import Tools
from docmill.invoices.reader import lexicon
from docmill.invoices.reader.amounts import LabelledAmount, find_amounts
from docmill.invoices.reader.columns import TaughtColumn
from docmill.invoices.reader.countries import find_countries
from docmill.invoices.reader.emails import find_emails
from docmill.invoices.reader.header import read_header
from docmill.invoices.reader.items import ResolvedLine, balance, make_lines, resolve
from docmill.invoices.reader.lines import (
    LineTable,
    RawLine,
    add_products,
    count_proven,
    find_bare_lines,
    find_lines,
)
from docmill.invoices.reader.model import Invoice
from docmill.invoices.reader.parties import find_parties
from docmill.invoices.reader.sections import find_sections
from docmill.invoices.reader.summed import find_summed_lines
from docmill.invoices.reader.totals import ChosenTotals, choose_totals, make_taxes, make_totals
from docmill.invoices.values import NOTHING
from docmill.reading import dates, numbers
from docmill.reading.labels import TextSheet, find_phrases
from docmill.reading.pages import Page, PagedDocument

COPIED: Final = 0.8  # of the rows of a page: so many are the same on a copy
_ROLES_OF_SUMS: Final = frozenset({"net", "gross", "base"})
_SUMS: Final = ("totals.net", "totals.tax", "totals.gross")
_SHARE: Final = re.compile(r"\d+[.,]\d+\s?%")  # `14.5 %` stands beside `30.655` pesos
_AMERICAN: Final = re.compile(  # `BP 30112` is a box in France
    r"\b(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI"
    r"|S[CD]|T[NX]|UT|V[AT]|W[AIVY]),? \d{5}(?:-\d{4})?\b|\b(?:United States|USA)\b"
)


def find_table(sheet: TextSheet, taught: Sequence[TaughtColumn] = ()) -> LineTable:
    """The lines under headings; where few of them add up, those that do without."""
    named = find_lines(sheet, taught)
    if 2 * count_proven(named) > len(named.lines):
        return named
    bare = find_bare_lines(sheet, taught)
    best = bare if count_proven(bare) > count_proven(named) else named
    return best if best.lines else find_summed_lines(sheet)


def _complete_table(
    sheet: TextSheet, table: LineTable, amounts: Sequence[LabelledAmount]
) -> LineTable | None:
    """The table with the rows that it lacks, where only with them it comes to a printed sum."""
    plain = [raw for raw in table.lines if not raw.extra]
    own = sum((raw.figures["amount"].number.value for raw in plain), NOTHING)
    if own in {item.value for item in amounts if item.role in _ROLES_OF_SUMS}:
        return None
    summed, known = find_summed_lines(sheet), {raw.row.index for raw in plain}
    if not known < summed.rows:
        return None
    more = [raw for raw in summed.lines if raw.row.index not in known]
    lines = sorted([*table.lines, *more], key=lambda raw: raw.row.index)
    return LineTable(tuple(lines), table.rows | summed.rows)


def _untaxed_sums(amounts: Sequence[LabelledAmount]) -> set[Decimal]:
    """What a page without a net and without a tax comes to."""
    if any(item.role in {"tax", "base"} for item in amounts):
        return set()
    return {item.value for item in amounts if item.role in {"gross", "due"}}


def _include_extras(lines: Sequence[RawLine], nets: set[Decimal]) -> Sequence[RawLine]:
    """The lines; with charges or discounts among them where only so they come to a printed net.

    Where there are both, a sum was changed by them; a discount between lines is of the line above.
    """
    plain = [raw for raw in lines if not raw.extra]
    extras = [raw.figures["amount"].number.value for raw in lines if raw.extra]
    inside = any(raw.extra == "discount" for raw in lines[: len(plain)])
    own = sum((raw.figures["amount"].number.value for raw in plain), NOTHING)
    alike = len({value > 0 for value in extras}) == 1 and not inside and len(plain) > 1
    return lines if alike and own not in nets and own + sum(extras) in nets else plain


def _drop_copies(
    sheet: TextSheet, lines: Sequence[RawLine], sums: set[Decimal]
) -> Sequence[RawLine]:
    """The lines of the original, where all tables say the same and one comes to a printed sum."""
    tables: dict[int, list[RawLine]] = {}
    for raw in lines:
        tables.setdefault(raw.header.first, []).append(raw)
    texts = {tuple(raw.row.text for raw in table) for table in tables.values()}
    if len(tables) < 2 or len(texts) > 1:
        return lines
    first = next(iter(tables.values()))
    own = sum((raw.figures["amount"].number.value for raw in first), NOTHING)
    proven = own in sums and own * len(tables) not in sums
    return first if proven or _is_copied(sheet, {raw.row.page for raw in lines}) else lines


def _is_copied(sheet: TextSheet, pages: set[int]) -> bool:
    """Whether pages say the same all over."""
    texts = [{row.text for row in sheet.rows if row.page == page} for page in pages]
    shared = set[str].intersection(*texts)
    return len(pages) > 1 and len(shared) >= COPIED * max(map(len, texts))


def detect_notation(sheet: TextSheet) -> TextSheet:
    """The sheet with how its numbers and dates are to be read."""
    texts = [row.text for row in sheet.rows]
    amounts = [_SHARE.sub("", cell.text) for row in sheet.rows for cell in row.cells]
    first = dates.has_month_first(texts)
    first = first if first is not None else any(_AMERICAN.search(text) for text in texts)
    mark = numbers.find_decimal_mark(amounts)
    return replace(sheet, mark=mark, month_first=first)


def _label_line(line: ResolvedLine) -> LabelledAmount:
    """The amount of a line as one of those that totals are made of."""
    figure = line.raw.figures["amount"]
    return LabelledAmount("line", line.amount, 0.0, figure, "", figure.cell.page)


def _settle(
    sheet: TextSheet, table: LineTable, amounts: Sequence[LabelledAmount]
) -> tuple[list[ResolvedLine], ChosenTotals]:
    """The lines of a table with their numbers decided, and the totals that fit them best."""
    sums = {item.value for item in amounts if item.role in _ROLES_OF_SUMS}
    nets = {item.value for item in amounts if item.role == "net"} or _untaxed_sums(amounts)
    counted = add_products(sheet, _include_extras(_drop_copies(sheet, table.lines, sums), nets))
    lines = balance([resolve(raw) for raw in counted], sums)
    return lines, choose_totals(amounts, [_label_line(line) for line in lines])


def _list_sums(chosen: ChosenTotals) -> list[tuple[Decimal, int]]:
    """What the lines may come to, and the row where it stands."""
    return [(pick.value, pick.row) for pick in (chosen.net, chosen.gross) if pick]


def read_invoice(sheet: TextSheet, taught: Sequence[TaughtColumn] = ()) -> Invoice:
    """The invoice on these pages, whose notation is known, with columns as they were taught."""
    phrases = find_phrases(sheet, lexicon.LABELS)
    table = find_table(sheet, taught)
    amounts = find_amounts(sheet, table.rows)
    if table.lines and (whole := _complete_table(sheet, table, amounts)):
        table, amounts = whole, find_amounts(sheet, whole.rows)
    lines, chosen = _settle(sheet, table, amounts)
    if not chosen.lines_fit and (whole := find_sections(sheet, table, _list_sums(chosen))):
        amounts = find_amounts(sheet, whole.rows)
        lines, chosen = _settle(sheet, whole, amounts)
        table = whole
    items = make_lines(sheet, lines, 0.9 if chosen.lines_fit else 0.6)
    totals = make_totals(chosen, amounts)
    boxes = [value.box for path in _SUMS if (value := totals.get(path)) and value.box]
    values = {
        **read_header(sheet, phrases, boxes, table.rows),
        **find_parties(sheet, phrases, table.rows),
        **totals,
    }
    values |= find_countries(sheet, values) | find_emails(sheet, values)
    return Invoice(values, items, make_taxes(chosen, amounts, items))


def read_pages(document: PagedDocument, tools: Tools) -> list[Page]:
    """All pages, told one by one: a page that is a picture takes seconds."""
    pages: list[Page] = []
    for page in document.pages:
        pages.append(page)
        percent = 50 * page.number // document.page_count
        tools.progress(percent, f"page {page.number} of {document.page_count}")
    tools.progress(50, f"pages read: {len(pages)}")
    return pages
