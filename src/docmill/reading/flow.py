"""Text without places, set on made-up pages as by a typewriter, so that geometry works too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from docmill.reading.pages import Box, Line, Page, Word, line_of

CHAR: Final = 6.0
PITCH: Final = 16.0
HEIGHT: Final = 14.0  # so that two spaces still join words, and three part cells
ROW_GAP: Final = PITCH - HEIGHT  # between two rows; anything more is a blank line
WIDTH: Final = 600.0


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that starts at a column, counted in characters; spaces inside it keep their width."""

    column: int
    text: str


Row = Sequence[Piece]
Sheet = Sequence[Row]


def pages_of(sheets: Sequence[Sheet]) -> Iterator[Page]:
    """One page for each sheet, one line for each row that is not blank."""
    for number, rows in enumerate(sheets, 1):
        lines = tuple(line for index, row in enumerate(rows) if (line := _line(row, index)))
        width = max([WIDTH, *(line.box.x1 for line in lines)])
        yield Page(number, width, max(len(rows), 1) * PITCH, lines, flow=True)


def _line(row: Row, index: int) -> Line | None:
    words = [word for piece in row for word in _words(piece, index)]
    return line_of(words) if words else None


def _words(piece: Piece, index: int) -> Iterator[Word]:
    top, column = index * PITCH, piece.column
    for part in piece.text.split(" "):
        if part:
            left = column * CHAR
            yield Word(part, Box(left, top, left + len(part) * CHAR, top + HEIGHT))
        column += len(part) + 1
