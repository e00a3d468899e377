"""Everything on a page that may be a label with its value, for who knows which labels to look for.

More than the fields of a page: also words beside or above others, and rows of tables, which are
worth something only to somebody who asks for just that label.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Final

from docmill.extract.reader import labels
from docmill.extract.reader.labels import LabelledField, find_nearest_below
from docmill.extract.reader.likeness import is_label_like
from docmill.extract.reader.values import DATE, EMAIL, TEXT, kind_of
from docmill.reading.blocks import Block
from docmill.reading.pages import Box, Line, Page, Word, make_line
from docmill.reading.tables.model import PageTable, TableCell

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
class LabelValue:
    """A label, the words that may be its value, and how sure their places make us."""

    label: str
    text: str
    page: int
    box: Box
    sure: float


def find_pairs(
    page: Page, fields: Sequence[LabelledField], blocks: Sequence[Block]
) -> Iterator[LabelValue]:
    """Those of a page that was read by OCR are less sure, as its words are."""
    tables = [block.table for block in blocks if block.table]
    named = (
        LabelValue(field.name, field.value.text, page.number, field.value.box, field.confidence)
        for field in fields
    )
    listed = (pair for table in tables for pair in _find_in_table(table, page.number))
    worth = page.confidence if page.scanned else 1.0
    for pair in chain(named, listed, _find_in_layout(page, tables)):
        yield replace(pair, text=pair.text.lstrip(": "), sure=pair.sure * worth)


def _find_in_layout(page: Page, tables: Sequence[PageTable]) -> Iterator[LabelValue]:
    rows = [line.cells for line in page.lines if not line.words[0].angle]
    for index, row in enumerate(rows):
        apart = not any(table.holds(row[0].box) for table in tables)
        runs = (run for cell in row for run in chain(_find_in_run(cell), _find_inside_line(cell)))
        beside = _find_in_row(rows, index) if apart else _find_typed_beside(row)
        found = chain(beside, runs, _find_in_section(rows, index))
        for label, value, sure in found:
            yield LabelValue(label, value.text, page.number, value.box, sure)


def _find_in_row(rows: Sequence[Sequence[Line]], index: int) -> Iterator[tuple[str, Line, float]]:
    """Each label of a row with what is to its right and what is under it."""
    row = rows[index]
    for column, cell in enumerate(row):
        if not labels.is_label(cell.text):
            continue
        if column + 1 < len(row) and not labels.find_inline_pairs(row[column + 1]):
            yield cell.text, row[column + 1], BESIDE
        under = find_nearest_below(rows, index, cell)
        if under and not labels.find_inline_pairs(under):
            yield cell.text, under, BELOW


def _find_typed_beside(row: Sequence[Line]) -> Iterator[tuple[str, Line, float]]:
    """In what looks like a table, only what is clearly a value has a label to its left."""
    for cell, value in pairwise(row):
        if labels.is_label(cell.text) and kind_of(value.text) != TEXT:
            yield cell.text, value, BESIDE


def _find_in_run(cell: Line) -> Iterator[tuple[str, Line, float]]:
    """A run of words cut after each of the first ones: `Invoice no 4711`."""
    words = cell.words
    if not 1 < len(words) <= LONGEST_RUN or labels.find_inline_pairs(cell):
        return
    for at in range(1, min(len(words), labels.MAX_WORDS + 1)):
        value = make_line(words[at:])
        if kind_of(value.text) != TEXT:
            yield " ".join(word.text for word in words[:at]), value, RUN


def _find_inside_line(cell: Line) -> Iterator[tuple[str, Line, float]]:
    """Values inside a line, each with the words before it: `Invoice (380) no. 17 of 5 May 2024`."""
    words, since = cell.words, 0
    if not 2 < len(words) <= LONGEST_LINE:
        return
    at = 0
    while at < len(words):
        end = next((end for end in _ENDS if _is_value(words[at : at + end])), 0)
        if end and at > since:
            value = make_line(words[at : at + end])
            for count in _LABELS:
                label = [*words[: min(since, 1)], *words[since:at][-count:]]
                yield " ".join(word.text for word in label), value, WITHIN
        since = at + end if end else since
        at += end or 1


def _is_value(words: Sequence[Word]) -> bool:
    text = " ".join(word.text for word in words).strip(",;")
    return kind_of(text) == DATE or (len(words) == 1 and kind_of(text) not in {TEXT, EMAIL})


def _find_in_section(
    rows: Sequence[Sequence[Line]], index: int
) -> Iterator[tuple[str, Line, float]]:
    """What stands under a heading that has no value of its own: a line, and labels with theirs.

    `Seller` above `Name: Miller Ltd` names the seller's name.
    """
    for heading in rows[index]:
        if not labels.is_label(heading.text) or any(
            pair.value for pair in labels.find_inline_pairs(heading)
        ):
            continue
        below = [
            cell
            for row in rows[index + 1 : index + 1 + SECTION]
            for cell in row
            if abs(cell.box.x0 - heading.box.x0) <= 2 * heading.box.height
        ]
        plain = (
            cell
            for cell in below
            if not labels.find_inline_pairs(cell) and not is_label_like(cell.text)
        )
        for cell in islice(plain, 1):
            yield heading.text, cell, UNDER
        for label, value in _find_labelled(rows, below):
            yield f"{heading.text.rstrip(' :')} {label}", value, SECTION_PAIR


def _find_labelled(
    rows: Sequence[Sequence[Line]], cells: Sequence[Line]
) -> Iterator[tuple[str, Line]]:
    for cell in cells:
        for pair in labels.find_inline_pairs(cell):
            if value := pair.value or _cell_right_of(rows, cell):
                yield pair.label.text, value


def _cell_right_of(rows: Sequence[Sequence[Line]], cell: Line) -> Line | None:
    row = next((row for row in rows if cell in row), ())
    at = [*row].index(cell) + 1 if row else 0
    return row[at] if 0 < at < len(row) else None


def _find_in_table(table: PageTable, number: int) -> Iterator[LabelValue]:
    rows: dict[int, list[TableCell]] = {}
    for cell in table.cells:
        rows.setdefault(cell.row, []).append(cell)
    head, *body = rows.values()
    if table.columns > 2 and len(body) > 0 and all(kind_of(cell.text) == TEXT for cell in head):
        yield from _find_under_heads(head, body, number)
    else:
        body = [head, *body]
    for row in body:
        for cell, value in pairwise(row):
            yield LabelValue(cell.text, value.text, number, value.box, ROW)
        if len(row) > 2:
            yield LabelValue(row[0].text, row[-1].text, number, row[-1].box, ROW_END)


def _find_under_heads(
    head: Sequence[TableCell], body: Sequence[Sequence[TableCell]], number: int
) -> Iterator[LabelValue]:
    """What stands under each head of a table that has one row; of several none is the value."""
    if len(body) != 1:
        return
    under = {cell.column: cell for cell in body[0]}
    for cell in head:
        if value := under.get(cell.column):
            yield LabelValue(cell.text, value.text, number, value.box, HEAD)


def words_between(words: Sequence[Word], start: int, end: int) -> Sequence[Word]:
    """The words of a line that lie between two of its characters."""
    found: list[Word] = []
    at = 0
    for word in words:
        if at < end and at + len(word.text) > start:
            found.append(word)
        at += len(word.text) + 1
    return found
