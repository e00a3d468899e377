"""What reading gives: pages of lines of words, each with its box, and the document around them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

BUILT_IN: Final = "built-in"
CELL_GAP: Final = 0.9


# A thousand on a page: to freeze them takes three times as long, a `__post_init__` a third longer.
@dataclass(slots=True, unsafe_hash=True, init=False)
class Box:
    """A rectangle in PDF points as the page is shown: origin top left, y grows downwards."""

    x0: float
    y0: float
    x1: float
    y1: float
    # Worked out at once: each box is asked for them some twenty times.
    height: float = field(init=False, repr=False, compare=False)
    middle: float = field(init=False, repr=False, compare=False)  # where the text runs

    def __init__(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.x0, self.y0, self.x1, self.y1 = x0, y0, x1, y1
        self.height = y1 - y0
        self.middle = (y0 + y1) / 2

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def centre(self) -> float:
        """How far from the left its middle is."""
        return (self.x0 + self.x1) / 2

    def holds(self, other: "Box") -> bool:
        """Whether the middle of another box lies in it."""
        return self.x0 <= other.centre <= self.x1 and self.y0 <= other.middle <= self.y1

    def shares_width(self, other: "Box") -> bool:
        """Whether one would stand above the other."""
        return self.x0 < other.x1 and other.x0 < self.x1

    def to_list(self) -> list[float]:
        """The box as results carry it: [x0, y0, x1, y1], to a hundredth of a point."""
        return [round(self.x0, 2), round(self.y0, 2), round(self.x1, 2), round(self.y1, 2)]


def bounding_box(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds them all."""
    first = boxes[0]
    if len(boxes) == 1:
        return first
    x0, y0, x1, y1 = first.x0, first.y0, first.x1, first.y1
    for box in boxes:  # one walk with plain comparisons: four of `min` and `max` take twice as long
        if box.x0 < x0:
            x0 = box.x0
        if box.y0 < y0:
            y0 = box.y0
        if box.x1 > x1:
            x1 = box.x1
        if box.y1 > y1:
            y1 = box.y1
    return Box(x0, y0, x1, y1)


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as boxes
class Word:
    """Text without a space in it. `angle` is clockwise on the shown page; upright text has 0.

    `confidence` from 0 to 1 is that of OCR; text that was printed as text has 1.
    """

    text: str
    box: Box
    angle: int = 0
    confidence: float = 1.0
    bold: bool = False


@dataclass(unsafe_hash=True)  # not frozen, as boxes; no slots: its cells are kept
class Line:
    """Words on one baseline of one column, in reading order."""

    words: tuple[Word, ...]
    box: Box
    text: str

    @cached_property
    def cells(self) -> tuple["Line", ...]:
        """The line cut where the gaps are too wide for a space: table cells, label and value."""
        if self.words[0].angle:
            return (self,)
        cells: list[list[Word]] = []
        for word in self.words:
            if cells and word.box.x0 - cells[-1][-1].box.x1 < CELL_GAP * self.box.height:
                cells[-1].append(word)
            else:
                cells.append([word])
        return tuple(make_line(cell) for cell in cells) if len(cells) > 1 else (self,)


def make_line(words: Sequence[Word]) -> Line:
    """A line of words that are already in reading order."""
    text = " ".join([word.text for word in words])
    return Line(tuple(words), bounding_box([word.box for word in words]), text)


@dataclass(frozen=True, slots=True)
class Page:
    """One page, its lines in reading order. `flow`: its boxes are made up, not seen.

    `scanned`: it is a picture, read by OCR with this `confidence` from 0 to 1. `rules` are the
    straight lines drawn on it, as boxes without width or height; `marks` are dots and small
    squares, such as those before the items of a list.
    """

    number: int
    width: float
    height: float
    lines: tuple[Line, ...]
    flow: bool = False
    scanned: bool = False
    confidence: float = 1.0
    rules: tuple[Box, ...] = ()
    marks: tuple[Box, ...] = ()

    @property
    def words(self) -> tuple[Word, ...]:
        return tuple([word for line in self.lines for word in line.words])

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True, slots=True)
class PagedDocument:
    """An open document. `pages` can be walked once; `warnings` is complete when that is done."""

    page_count: int
    metadata: Mapping[str, str]
    pages: Iterator[Page]
    warnings: list[str] = field(default_factory=list[str])
    reader: str = BUILT_IN
    embeds: bool = True  # whether files may be embedded in it


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as boxes
class Value:
    """A value as results carry it, and the words it was read from."""

    value: str
    confidence: float
    page: int = 0
    box: Box | None = None
    text: str = ""

    def sure(self, confidence: float) -> "Value":
        return replace(self, confidence=round(confidence, 2))


FLOW_CHAR: Final = 6.0
FLOW_PITCH: Final = 16.0
FLOW_HEIGHT: Final = 14.0  # so that two spaces still join words, and three part cells
FLOW_ROW_GAP: Final = FLOW_PITCH - FLOW_HEIGHT  # between two rows; anything more is a blank line
FLOW_WIDTH: Final = 600.0


@dataclass(frozen=True, slots=True)
class FlowPiece:
    """Text that starts at a column, counted in characters; spaces inside it keep their width."""

    column: int
    text: str


FlowRow = Sequence[FlowPiece]
FlowSheet = Sequence[FlowRow]


def lay_out_flow(sheets: Sequence[FlowSheet]) -> Iterator[Page]:
    """One page for each sheet, one line for each row that is not blank."""
    for number, rows in enumerate(sheets, 1):
        lines = tuple(line for index, row in enumerate(rows) if (line := _lay_out_row(row, index)))
        width = max([FLOW_WIDTH, *(line.box.x1 for line in lines)])
        yield Page(number, width, max(len(rows), 1) * FLOW_PITCH, lines, flow=True)


def _lay_out_row(row: FlowRow, index: int) -> Line | None:
    words = [word for piece in row for word in _lay_out_piece(piece, index)]
    return make_line(words) if words else None


def _lay_out_piece(piece: FlowPiece, index: int) -> Iterator[Word]:
    top, column = index * FLOW_PITCH, piece.column
    for part in piece.text.split(" "):
        if part:
            left = column * FLOW_CHAR
            yield Word(part, Box(left, top, left + len(part) * FLOW_CHAR, top + FLOW_HEIGHT))
        column += len(part) + 1
