"""A page's lines as the parts people see: headings, paragraphs, list items and tables."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

from docmill.reading.aligned import aligned_tables
from docmill.reading.flow import ROW_GAP
from docmill.reading.pages import Box, Line, Page, around
from docmill.reading.ruled import ruled_tables
from docmill.reading.tables import Table, upright


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


LARGER: Final = 1.15  # times the height of plain text
LEVELS: Final = (1.6, 1.3)
HEADING_CHARS: Final = 120
HEADING_LINES: Final = 3
HEADING_WITH_LINE: Final = 2
PARTED: Final = 0.5  # of the height beyond the usual gap
INDENT: Final = 1.2
SAME_HEIGHT: Final = 0.15
TITLE_CHARS: Final = 80
LONG_WORD: Final = 4
TITLED: Final = 0.7

_ITEM: Final = re.compile(r"(?:[•‣◦▪■●○∙·–*➢✓-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s+\S")
_NUMBERED: Final = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z]\.|§ ?\d+[a-z]?)\s+\S"
    r"|(?i:chapter|part|book|article|section|appendix|annex|schedule)\s+(?:\d+|[IVXLC]+|[A-Z])\b"
)
_SENTENCE: Final = re.compile(r"[.;,:]$")
_UNDERLINE: Final = re.compile(r"([*#=~^-])\1{2,}")
_UNDERLINED: Final = {"*": 1, "#": 1, "=": 2}  # as in plain text; other marks are the third level


def blocks_of(page: Page) -> list[Block]:
    """Everything on the page once, in reading order."""
    if isinstance(page, LaidOut):
        return [*page.blocks]
    tables = ruled_tables(page)
    free = [line for line in upright(page) if not _table_of(line, tables)]
    tables += aligned_tables(page, free)
    turned = [line for line in page.lines if line.words[0].angle]
    usual = _usual_height(page.lines)
    blocks: list[Block] = []
    run: list[Line] = []
    placed: set[int] = set()
    for line in upright(page):
        table = _table_of(line, tables)
        if table is None:
            run.append(line)
            continue
        blocks += _written(run, usual, page)
        run = []
        if id(table) not in placed:
            placed.add(id(table))
            blocks.append(block_of(table))
    blocks += _written(run, usual, page)
    return [*blocks, *(Block(Kind.PARAGRAPH, line.text, line.box) for line in turned)]


def _table_of(line: Line, tables: Sequence[Table]) -> Table | None:
    return next((table for table in tables if table.holds(line.box)), None)


def block_of(table: Table) -> Block:
    text = "\n".join(" | ".join(row) for row in table.grid)
    return Block(Kind.TABLE, text, table.box, table=table)


def is_item(text: str) -> bool:
    """Whether text begins as an item of a list does."""
    return bool(_ITEM.match(text))


def _usual_height(lines: Sequence[Line]) -> float:
    """The height in which most of the text is set."""
    heights: Counter[float] = Counter()
    for line in lines:
        heights[round(_height(line) * 2) / 2] += len(line.text)
    return heights.most_common(1)[0][0] if heights else 0.0


def _height(line: Line) -> float:
    return median(word.box.height for word in line.words)


def _written(lines: Sequence[Line], usual: float, page: Page) -> Iterator[Block]:
    gap = ROW_GAP if page.flow else _usual_gap(lines)
    for part in _parts(lines, gap):
        box = around([line.box for line in part])
        under = _underline(part)
        text = part[0].text if under else joined([line.text for line in part])
        level = _UNDERLINED.get(under, 3) if under else _heading_level(part, text, usual)
        if level:
            yield Block(Kind.HEADING, text, box, level)
        elif is_item(text):
            yield Block(Kind.LIST_ITEM, text, box)
        else:
            yield Block(Kind.PARAGRAPH, text, box)


def _underline(part: Sequence[Line]) -> str:
    """The mark with which a typewriter underlines a heading; empty where there is none."""
    if len(part) != HEADING_WITH_LINE or len(part[0].text) > HEADING_CHARS:
        return ""
    found = _UNDERLINE.fullmatch(part[1].text)
    return found[1] if found and any(map(str.isalpha, part[0].text)) else ""


def _parts(lines: Sequence[Line], gap: float) -> Iterator[list[Line]]:
    """Lines that belong together, cut where a reader would see a new part begin."""
    part: list[Line] = []
    for line in lines:
        if part and _begins(line, part, gap):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def _usual_gap(lines: Sequence[Line]) -> float:
    gaps = [
        below.box.y0 - above.box.y1
        for above, below in itertools.pairwise(lines)
        if below.box.y0 > above.box.middle and _overlaps(above.box, below.box)
    ]
    return sorted(gaps)[len(gaps) // 3] if gaps else 0.0


def _overlaps(one: Box, other: Box) -> bool:
    return one.x0 < other.x1 and other.x0 < one.x1


def _begins(line: Line, part: Sequence[Line], gap: float) -> bool:
    above = part[-1]
    height = _height(above)
    drop = line.box.y0 - above.box.y1
    if _underline(part):
        return True
    if drop < -height or not _overlaps(above.box, line.box):
        return True
    if drop > max(gap, 0.0) + PARTED * height or is_item(line.text):
        return True
    if abs(_height(line) - height) > SAME_HEIGHT * height or _bold(line) != _bold(above):
        return True
    return len(part) > 1 and line.box.x0 - part[-1].box.x0 > INDENT * height


def _bold(line: Line) -> bool:
    return all(word.bold for word in line.words)


def _heading_level(lines: Sequence[Line], text: str, usual: float) -> int:
    """0 for what is no heading: those are short, and larger or bolder than the text around."""
    if len(text) > HEADING_CHARS or len(lines) > HEADING_LINES or not usual:
        return 0
    if sum(char.isalpha() for char in text) < 2:
        return 0
    ratio = median(_height(line) for line in lines) / usual
    if ratio >= LARGER:
        return next((at for at, least in enumerate(LEVELS, 1) if ratio >= least), len(LEVELS) + 1)
    if ratio < 1 - SAME_HEIGHT or (len(lines) > 1 and not _all_bold(lines)):
        return 0
    if _is_title(text):
        return len(LEVELS) + 1
    return len(LEVELS) + 1 if _all_bold(lines) and not _SENTENCE.search(text) else 0


def _all_bold(lines: Sequence[Line]) -> bool:
    return all(_bold(line) for line in lines)


def _is_title(text: str) -> bool:
    """A line that is numbered, or all in capitals, and whose long words begin with capitals."""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) >= LONG_WORD]
    if len(text) > TITLE_CHARS or not words or text[-1] in ",;:":
        return False
    capitals = sum(word[0].isupper() for word in words)
    if _NUMBERED.match(text):
        return capitals >= TITLED * len(words)
    return text.isupper() and len(words) > 1


def joined(lines: Sequence[str]) -> str:
    """Lines as running text; a word that a hyphen cut at the end of a line is whole again."""
    text = ""
    for line in lines:
        cut = len(text) > 1 and text.endswith("-") and text[-2].isalpha() and line[:1].islower()
        text = text[:-1] + line if cut else f"{text} {line}" if text else line
    return text
