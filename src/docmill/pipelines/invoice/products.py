"""Quantity and price that stand as a product under a line: `Rp 1.500.000,00 x 12,00 pcs`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from docmill.pipelines.invoice.arithmetic import fits
from docmill.pipelines.invoice.layout import Figure, Row, Sheet, figures
from docmill.pipelines.invoice.lines import Raw

ROWS: Final = 6  # under the last line: how far its product may stand
_TIMES: Final = re.compile(r"\s*(?:[^\W\d_]{1,10}\.?\s+)?[x×*@]\s*(?:[A-Za-z]{1,3}\.?)?\s*")


def with_products(sheet: Sheet, lines: Sequence[Raw]) -> list[Raw]:
    """Lines that do not add up by their columns, with what is multiplied under them."""
    ends = [raw.row.index for raw in lines[1:]]
    ends += [raw.row.index + ROWS for raw in lines[-1:]]
    return [
        _with_product(sheet, raw, sheet.rows[raw.row.index : end])
        for raw, end in zip(lines, ends, strict=True)
    ]


def _with_product(sheet: Sheet, raw: Raw, rows: Sequence[Row]) -> Raw:
    if any(True for _ in fits(raw.figures)):
        return raw
    for one, two in _products(sheet, rows):
        quantity, price = sorted(
            (one, two), key=lambda item: (bool(item.number.currency), item.number.value)
        )
        found = {"quantity": quantity, "unit_price": price, "amount": raw.figures["amount"]}
        if any(True for _ in fits(found)):
            return replace(raw, figures=found, taken=(*raw.taken, one, two))
    return raw


def _products(sheet: Sheet, rows: Sequence[Row]) -> Iterator[tuple[Figure, Figure]]:
    for row in rows:
        for one, two in pairwise(figures(row, sheet.mark)):
            between = one.cell.text[one.number.end : two.number.start]
            if one.cell is two.cell and _TIMES.fullmatch(between):
                yield one, two
