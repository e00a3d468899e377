"""Passages to be found by search: they end where a page, a heading's part or a table ends."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from docmill.pipelines.extract.running import Leaf
from docmill.reading.blocks import Block, Kind
from docmill.reading.pages import Box, around
from docmill.reading.tables import Cell, Table

FULL: Final = 1800  # characters: most paragraphs stay whole, and have their neighbours with them
PART: Final = 350  # about what one vector can stand for
PATH: Final = " › "
PATH_CHARS: Final = 200

_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+(?=[^a-z\s])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage, on one page; `heading` is the way to it through the headings above.

    `parts` are its texts again, in pieces that each say one thing.
    """

    page: int
    box: Box
    heading: str
    text: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A text that is not cut any more."""

    text: str
    box: Box


def chunks_of(leaves: Sequence[Leaf]) -> Iterator[Chunk]:
    path: list[Block] = []
    for leaf in leaves:
        waiting: list[Piece] = []
        bare = False
        for block in leaf.blocks:
            if block.kind in {Kind.HEADER, Kind.FOOTER}:
                continue
            if block.kind is not Kind.HEADING:
                waiting += _pieces(block)
                bare = False
                continue
            if not bare:  # a heading alone answers nothing; it goes with what comes under it
                yield from _packed(leaf.number, _way(path), waiting)
                waiting = []
            waiting.append(Piece(block.text, block.box))
            bare = True
            path = [*(above for above in path if above.level < block.level), block]
        yield from _packed(leaf.number, _way(path), waiting)


def _way(path: Sequence[Block]) -> str:
    return PATH.join(block.text for block in path)[-PATH_CHARS:]


def _packed(page: int, heading: str, pieces: Sequence[Piece]) -> Iterator[Chunk]:
    """Pieces put together as long as they fit."""
    held: list[Piece] = []
    for piece in pieces:
        if held and sum(len(one.text) + 1 for one in held) + len(piece.text) > FULL:
            yield _chunk(page, heading, held)
            held = []
        held.append(piece)
    if held:
        yield _chunk(page, heading, held)


def _chunk(page: int, heading: str, pieces: Sequence[Piece]) -> Chunk:
    text = "\n".join(piece.text for piece in pieces)
    parts = tuple(_parts([piece.text for piece in pieces]))
    return Chunk(page, around([piece.box for piece in pieces]), heading, text, parts)


def _parts(texts: Sequence[str]) -> Iterator[str]:
    """Short texts together, long ones cut at their sentences."""
    held = ""
    for part in (part for text in texts for part in _cut(text, PART)):
        if held and len(held) + len(part) > PART:
            yield held
            held = ""
        held = f"{held}\n{part}" if held else part
    if held:
        yield held


def _pieces(block: Block) -> Iterator[Piece]:
    if block.table:
        yield from _table_pieces(block.table)
        return
    for text in _cut(block.text, FULL):
        yield Piece(text, block.box)


def _cut(text: str, most: int) -> Iterator[str]:
    """A long text in sentences, as many together as there is room for, and those in words."""
    if len(text) <= most:
        yield text
        return
    held = ""
    for part in (word for sentence in _SENTENCE.split(text) for word in _words(sentence, most)):
        if held and len(held) + len(part) >= most:
            yield held
            held = ""
        held = f"{held} {part}" if held else part
    if held:
        yield held


def _words(sentence: str, most: int) -> Sequence[str]:
    if len(sentence) <= most:
        return [sentence]
    return [word[at : at + most] for word in sentence.split() for at in range(0, len(word), most)]


def _table_pieces(table: Table) -> Iterator[Piece]:
    """Rows of a table, which begin with its first row wherever they are cut apart."""
    rows = [list(cells) for _, cells in groupby(table.cells, key=lambda cell: cell.row)]
    head = _row_text(rows[0])[: FULL // 3]
    held: list[list[Cell]] = []
    size = 0
    for row in rows:
        text = _row_text(row)
        if held and size + len(text) > FULL:
            yield _rows_piece(held, head)
            held, size = [], len(head)
        held.append(row)
        size += len(text) + 1
    yield _rows_piece(held, head)


def _rows_piece(rows: Sequence[Sequence[Cell]], head: str) -> Piece:
    lines = [_row_text(row) for row in rows]
    if rows[0][0].row > 0:
        lines = [head, *lines]
    return Piece("\n".join(lines), around([cell.box for row in rows for cell in row]))


def _row_text(row: Sequence[Cell]) -> str:
    return " | ".join(cell.text for cell in row)
