"""Everything on a page that may be a label with its value, for who knows which labels to look for.

More than the fields of a page: also words beside or above others, and rows of tables, which are
worth something only to somebody who asks for just that label.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Final

from docmill.pipelines.extract import labels
from docmill.pipelines.extract.fields import Field, nearest_below
from docmill.pipelines.extract.kinds import DATE, EMAIL, TEXT, kind
from docmill.pipelines.extract.meanings import is_label_like
from docmill.reading.blocks import Block
from docmill.reading.pages import Box, Line, Page, Word, line_of
from docmill.reading.tables import Cell, Table

BESIDE: Final = 0.6
BELOW: Final = 0.5
ROW: Final = 0.7
ROW_END: Final = 0.65
HEAD: Final = 0.7
RUN: Final = 0.65
LONGEST_RUN: Final = 12  # words
WITHIN: Final = 0.6
LONGEST_LINE: Final = 16
SECTION: Final = 5  # lines under a heading belong to it
SECTION_PAIR: Final = 0.6
UNDER: Final = 0.55
_LABELS: Final = (2, 6)  # words before it that may be its label
_ENDS: Final = (3, 2, 1)  # words of a value inside a line, the most first


@dataclass(frozen=True, slots=True)
class Pair:
    """A label, the words that may be its value, and how sure their places make us."""

    label: str
    text: str
    page: int
    box: Box
    sure: float


def pairs_of(page: Page, fields: Sequence[Field], blocks: Sequence[Block]) -> Iterator[Pair]:
    """Those of a page that was read by OCR are less sure, as its words are."""
    tables = [block.table for block in blocks if block.table]
    named = (
        Pair(field.name, field.value.text, page.number, field.value.box, field.confidence)
        for field in fields
    )
    listed = (pair for table in tables for pair in _of_table(table, page.number))
    worth = page.confidence if page.scanned else 1.0
    for pair in chain(named, listed, _of_layout(page, tables)):
        yield replace(pair, text=pair.text.lstrip(": "), sure=pair.sure * worth)


def _of_layout(page: Page, tables: Sequence[Table]) -> Iterator[Pair]:
    rows = [line.cells for line in page.lines if not line.words[0].angle]
    for index, row in enumerate(rows):
        apart = not any(table.holds(row[0].box) for table in tables)
        runs = (run for cell in row for run in chain(_of_run(cell), _within(cell)))
        beside = _of_row(rows, index) if apart else _typed_beside(row)
        found = chain(beside, runs, _of_section(rows, index))
        for label, value, sure in found:
            yield Pair(label, value.text, page.number, value.box, sure)


def _of_row(rows: Sequence[Sequence[Line]], index: int) -> Iterator[tuple[str, Line, float]]:
    """Each label of a row with what is to its right and what is under it."""
    row = rows[index]
    for column, cell in enumerate(row):
        if not labels.is_label(cell.text):
            continue
        if column + 1 < len(row) and not labels.pairs(row[column + 1]):
            yield cell.text, row[column + 1], BESIDE
        under = nearest_below(rows, index, cell)
        if under and not labels.pairs(under):
            yield cell.text, under, BELOW


def _typed_beside(row: Sequence[Line]) -> Iterator[tuple[str, Line, float]]:
    """In what looks like a table, only what is clearly a value has a label to its left."""
    for cell, value in pairwise(row):
        if labels.is_label(cell.text) and kind(value.text) != TEXT:
            yield cell.text, value, BESIDE


def _of_run(cell: Line) -> Iterator[tuple[str, Line, float]]:
    """A run of words cut after each of the first ones: `Invoice no 4711`."""
    words = cell.words
    if not 1 < len(words) <= LONGEST_RUN or labels.pairs(cell):
        return
    for at in range(1, min(len(words), labels.MAX_WORDS + 1)):
        value = line_of(words[at:])
        if kind(value.text) != TEXT:
            yield " ".join(word.text for word in words[:at]), value, RUN


def _within(cell: Line) -> Iterator[tuple[str, Line, float]]:
    """Values inside a line, each with the words before it: `Invoice (380) no. 17 of 5 May 2024`."""
    words, since = cell.words, 0
    if not 2 < len(words) <= LONGEST_LINE:
        return
    at = 0
    while at < len(words):
        end = next((end for end in _ENDS if _is_value(words[at : at + end])), 0)
        if end and at > since:
            value = line_of(words[at : at + end])
            for count in _LABELS:
                label = [*words[: min(since, 1)], *words[since:at][-count:]]
                yield " ".join(word.text for word in label), value, WITHIN
        since = at + end if end else since
        at += end or 1


def _is_value(words: Sequence[Word]) -> bool:
    text = " ".join(word.text for word in words).strip(",;")
    return kind(text) == DATE or (len(words) == 1 and kind(text) not in {TEXT, EMAIL})


def _of_section(rows: Sequence[Sequence[Line]], index: int) -> Iterator[tuple[str, Line, float]]:
    """What stands under a heading that has no value of its own: a line, and labels with theirs.

    `Seller` above `Name: Miller Ltd` names the seller's name.
    """
    for heading in rows[index]:
        if not labels.is_label(heading.text) or any(pair.value for pair in labels.pairs(heading)):
            continue
        below = [
            cell
            for row in rows[index + 1 : index + 1 + SECTION]
            for cell in row
            if abs(cell.box.x0 - heading.box.x0) <= 2 * heading.box.height
        ]
        plain = (cell for cell in below if not labels.pairs(cell) and not is_label_like(cell.text))
        for cell in islice(plain, 1):
            yield heading.text, cell, UNDER
        for label, value in _labelled(rows, below):
            yield f"{heading.text.rstrip(' :')} {label}", value, SECTION_PAIR


def _labelled(rows: Sequence[Sequence[Line]], cells: Sequence[Line]) -> Iterator[tuple[str, Line]]:
    for cell in cells:
        for pair in labels.pairs(cell):
            if value := pair.value or _right_of(rows, cell):
                yield pair.label.text, value


def _right_of(rows: Sequence[Sequence[Line]], cell: Line) -> Line | None:
    row = next((row for row in rows if cell in row), ())
    at = [*row].index(cell) + 1 if row else 0
    return row[at] if 0 < at < len(row) else None


def _of_table(table: Table, number: int) -> Iterator[Pair]:
    rows: dict[int, list[Cell]] = {}
    for cell in table.cells:
        rows.setdefault(cell.row, []).append(cell)
    head, *body = rows.values()
    if table.columns > 2 and len(body) > 0 and all(kind(cell.text) == TEXT for cell in head):
        yield from _under_heads(head, body, number)
    else:
        body = [head, *body]
    for row in body:
        for cell, value in pairwise(row):
            yield Pair(cell.text, value.text, number, value.box, ROW)
        if len(row) > 2:
            yield Pair(row[0].text, row[-1].text, number, row[-1].box, ROW_END)


def _under_heads(
    head: Sequence[Cell], body: Sequence[Sequence[Cell]], number: int
) -> Iterator[Pair]:
    """What stands under each head of a table that has one row; of several none is the value."""
    if len(body) != 1:
        return
    under = {cell.column: cell for cell in body[0]}
    for cell in head:
        if value := under.get(cell.column):
            yield Pair(cell.text, value.text, number, value.box, HEAD)
