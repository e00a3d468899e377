"""A page's lines as the parts people see: headings, paragraphs, list items and tables."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

from docmill.reading.pages import Box, Line, Page, around
from docmill.reading.parts import (
    HEADING_CHARS,
    LARGER,
    SAME_HEIGHT,
    flowed,
    height_of,
    is_bold,
    is_item,
    joined,
    marked,
    parts_of,
    underline,
)
from docmill.reading.placing import placed
from docmill.reading.tables import Table


class Kind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    HEADER = "header"
    FOOTER = "footer"


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a page. `level` is a heading's, 1 for the largest; `table` is a table's."""

    kind: Kind
    text: str
    box: Box
    level: int = 0
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A label and its value, and how sure that is from 0 to 1."""

    label: Line
    value: Line
    confidence: float


@dataclass(frozen=True, slots=True)
class LaidOut(Page):
    """A page whose reader knows its parts already, and perhaps labels with their values."""

    blocks: tuple[Block, ...] = ()
    pairs: tuple[Pair, ...] = ()


LEVELS: Final = (1.6, 1.3)
HEADING_LINES: Final = 3
TITLE_CHARS: Final = 80
TITLE_WORDS: Final = 7
LONG_WORD: Final = 4
TITLED: Final = 0.7

_NUMBERED: Final = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z]\.|§ ?\d+[a-z]?)\s+\S"
    r"|(?i:chapter|part|book|article|section|appendix|annex|schedule)\s+(?:\d+|[IVXLC]+|[A-Z])\b"
)
_SENTENCE: Final = re.compile(r"[.;,:]$")
_UNDERLINED: Final = {"*": 1, "#": 1, "=": 2}  # as in plain text; other marks are the third level


def blocks_of(page: Page) -> list[Block]:
    """Everything on the page once, in reading order."""
    if isinstance(page, LaidOut):
        return [*page.blocks]
    turned = [line for line in page.lines if line.words[0].angle]
    usual = _usual_height(page.lines)
    blocks: list[Block] = []
    run: list[Line] = []
    for item in placed(page):
        if isinstance(item, Line):
            run.append(item)
            continue
        blocks += _written(run, usual, page)
        run = []
        blocks.append(block_of(item))
    blocks += _written(run, usual, page)
    return [*blocks, *(Block(Kind.PARAGRAPH, line.text, line.box) for line in turned)]


def block_of(table: Table) -> Block:
    text = "\n".join(" | ".join(row) for row in table.grid)
    return Block(Kind.TABLE, text, table.box, table=table)


def _usual_height(lines: Sequence[Line]) -> float:
    """The height in which most of the text is set."""
    heights: Counter[float] = Counter()
    for line in lines:
        heights[round(height_of(line) * 2) / 2] += len(line.text)
    return heights.most_common(1)[0][0] if heights else 0.0


def _written(lines: Sequence[Line], usual: float, page: Page) -> Iterator[Block]:
    marks = page.marks
    for part in parts_of(lines, usual, page):
        box = around([line.box for line in part])
        under = underline(part)
        text = part[0].text if under else joined([line.text for line in part])
        level = _UNDERLINED.get(under, 3) if under else _heading_level(part, text, usual)
        if level and not marked(part[0], marks):
            yield Block(Kind.HEADING, text, box, level)
        else:
            item = is_item(text) or marked(part[0], marks)
            kind = Kind.LIST_ITEM if item else Kind.PARAGRAPH
            yield Block(kind, flowed(part), box)


def _heading_level(lines: Sequence[Line], text: str, usual: float) -> int:
    """0 for what is no heading: those are short, and larger or bolder than the text around."""
    if len(text) > HEADING_CHARS or len(lines) > HEADING_LINES or not usual:
        return 0
    if sum(char.isalpha() for char in text) < 2:
        return 0
    ratio = median(height_of(line) for line in lines) / usual
    if ratio >= LARGER:
        if _says_something(text):
            return 0
        return next((at for at, least in enumerate(LEVELS, 1) if ratio >= least), len(LEVELS) + 1)
    if ratio < 1 - SAME_HEIGHT or (len(lines) > 1 and not _all_bold(lines)):
        return 0
    if _is_title(text):
        return len(LEVELS) + 1
    return len(LEVELS) + 1 if _all_bold(lines) and not _SENTENCE.search(text) else 0


def _says_something(text: str) -> bool:
    """Whether large text is a sentence, such as a quotation set into a page."""
    return text[-1] in ".!" and len(text.split()) > TITLE_WORDS


def _all_bold(lines: Sequence[Line]) -> bool:
    return all(is_bold(line) for line in lines)


def _is_title(text: str) -> bool:
    """A line that is numbered, or all in capitals, and whose long words begin with capitals."""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) >= LONG_WORD]
    if len(text) > TITLE_CHARS or not words or text[-1] in ",;:":
        return False
    capitals = sum(word[0].isupper() for word in words)
    if _NUMBERED.match(text):
        return capitals >= TITLED * len(words)
    return text.isupper() and len(words) > 1
