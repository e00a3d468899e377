"""Pages whose text runs another way than the page is shown: read upright, told as they are shown.

A scan that lies upside down is shown upside down by every viewer, and so are our pictures of it.
Readers work on the page turned upright; the boxes they give are turned back to the shown page.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from docmill.reading.blocks import Block, LaidOut
from docmill.reading.order import find_turn, order_lines, turn_box
from docmill.reading.pages import Box, Line, Page, Value, Word, make_line

Size = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frames:
    """How the pages of a document are turned, by number: the angle and the size as shown.

    Pages that stand upright are left out.
    """

    turned: Mapping[int, tuple[int, Size]]

    def to_shown(self, page: int, box: Box) -> Box:
        """A box of the upright page as it lies on the shown page."""
        if page not in self.turned:
            return box
        angle, (width, height) = self.turned[page]
        frame = (height, width) if angle % 180 else (width, height)
        return turn_box(box, (360 - angle) % 360, frame)

    def to_upright(self, page: int, box: Box) -> Box:
        """A box of the shown page as it lies on the upright page."""
        return turn_box(box, *self.turned[page]) if page in self.turned else box

    def place(self, value: Value) -> Value:
        """A value that was read on upright pages, with its box on the shown page."""
        return replace(value, box=self.to_shown(value.page, value.box)) if value.box else value


def find_frames(pages: Iterable[Page]) -> Frames:
    return Frames(
        {
            page.number: (angle, (page.width, page.height))
            for page in pages
            if (angle := find_turn(page.words))
        }
    )


def set_upright(page: Page) -> Page:
    """The page as it is when most of its text stands upright."""
    angle, size = find_turn(page.words), (page.width, page.height)
    if not angle:
        return page
    words = [_turn_word(word, angle, size) for word in page.words]
    if isinstance(page, LaidOut):
        page = _turn_parts(page, angle, size)
    width, height = (page.height, page.width) if angle % 180 else size
    return replace(
        page,
        width=width,
        height=height,
        lines=order_lines(words, (width, height)),
        rules=tuple(turn_box(box, angle, size) for box in page.rules),
        marks=tuple(turn_box(box, angle, size) for box in page.marks),
    )


def _turn_parts(page: LaidOut, angle: int, size: Size) -> LaidOut:
    """The page with its parts turned; all else is left to `set_upright`."""

    def line(given: Line) -> Line:
        return make_line([_turn_word(word, angle, size) for word in given.words])

    return replace(
        page,
        blocks=tuple(_turn_block(block, angle, size) for block in page.blocks),
        pairs=tuple(
            replace(pair, label=line(pair.label), value=line(pair.value)) for pair in page.pairs
        ),
    )


def _turn_block(block: Block, angle: int, size: Size) -> Block:
    def place(box: Box) -> Box:
        return turn_box(box, angle, size)

    table = block.table
    if table:
        cells = tuple(replace(cell, box=place(cell.box)) for cell in table.cells)
        table = replace(table, box=place(table.box), cells=cells)
    return replace(block, box=place(block.box), table=table)


def _turn_word(word: Word, angle: int, size: Size) -> Word:
    return replace(word, box=turn_box(word.box, angle, size), angle=(word.angle - angle) % 360)
