"""A page's lines as the parts people see: headings, paragraphs, list items and tables."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

from docmill.reading.pages import FLOW_ROW_GAP, Box, Line, Page, bounding_box
from docmill.reading.tables.model import PageTable
from docmill.reading.tables.on_page import arrange_page


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    HEADER = "header"
    FOOTER = "footer"


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a page. `level` is a heading's, 1 for the largest; `table` is a table's."""

    kind: BlockKind
    text: str
    box: Box
    level: int = 0
    table: PageTable | None = None


@dataclass(frozen=True, slots=True)
class LabelPair:
    """A label and its value, and how sure that is from 0 to 1."""

    label: Line
    value: Line
    confidence: float


@dataclass(frozen=True, slots=True)
class LaidOut(Page):
    """A page whose reader knows its parts already, and perhaps labels with their values."""

    blocks: tuple[Block, ...] = ()
    pairs: tuple[LabelPair, ...] = ()


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


def find_blocks(page: Page) -> list[Block]:
    """Everything on the page once, in reading order."""
    if isinstance(page, LaidOut):
        return [*page.blocks]
    turned = [line for line in page.lines if line.words[0].angle]
    usual = _find_usual_height(page.lines)
    blocks: list[Block] = []
    run: list[Line] = []
    for item in arrange_page(page):
        if isinstance(item, Line):
            run.append(item)
            continue
        blocks += _make_text_blocks(run, usual, page)
        run = []
        blocks.append(make_table_block(item))
    blocks += _make_text_blocks(run, usual, page)
    return [*blocks, *(Block(BlockKind.PARAGRAPH, line.text, line.box) for line in turned)]


def make_table_block(table: PageTable) -> Block:
    text = "\n".join(" | ".join(row) for row in table.grid)
    return Block(BlockKind.TABLE, text, table.box, table=table)


def _find_usual_height(lines: Sequence[Line]) -> float:
    """The height in which most of the text is set."""
    heights: Counter[float] = Counter()
    for line in lines:
        heights[round(line_height(line) * 2) / 2] += len(line.text)
    return heights.most_common(1)[0][0] if heights else 0.0


def _make_text_blocks(lines: Sequence[Line], usual: float, page: Page) -> Iterator[Block]:
    marks = page.marks
    for part in cut_into_parts(lines, usual, page):
        box = bounding_box([line.box for line in part])
        under = find_underline(part)
        text = part[0].text if under else join_lines([line.text for line in part])
        level = _UNDERLINED.get(under, 3) if under else _find_heading_level(part, text, usual)
        if level and not has_mark(part[0], marks):
            yield Block(BlockKind.HEADING, text, box, level)
        else:
            item = is_list_item(text) or has_mark(part[0], marks)
            kind = BlockKind.LIST_ITEM if item else BlockKind.PARAGRAPH
            yield Block(kind, join_flowing_lines(part), box)


def _find_heading_level(lines: Sequence[Line], text: str, usual: float) -> int:
    """0 for what is no heading: those are short, and larger or bolder than the text around."""
    if len(text) > HEADING_CHARS or len(lines) > HEADING_LINES or not usual:
        return 0
    if sum(char.isalpha() for char in text) < 2:
        return 0
    ratio = median(line_height(line) for line in lines) / usual
    if ratio >= LARGER:
        if _is_sentence(text):
            return 0
        return next((at for at, least in enumerate(LEVELS, 1) if ratio >= least), len(LEVELS) + 1)
    if ratio < 1 - SAME_HEIGHT or (len(lines) > 1 and not _are_bold(lines)):
        return 0
    if _is_title(text):
        return len(LEVELS) + 1
    return len(LEVELS) + 1 if _are_bold(lines) and not _SENTENCE.search(text) else 0


def _is_sentence(text: str) -> bool:
    """Whether large text is a sentence, such as a quotation set into a page."""
    return text[-1] in ".!" and len(text.split()) > TITLE_WORDS


def _are_bold(lines: Sequence[Line]) -> bool:
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


HEADING_CHARS: Final = 120
HEADING_WITH_LINE: Final = 2
PARTED: Final = 0.5  # of the height beyond the usual gap
LITTLE: Final = 0.12  # the same, where the line above ends early
INDENT: Final = 1.2
SMALL_INDENT: Final = 0.5
SPACE: Final = 0.3
SAME_HEIGHT: Final = 0.15
LARGER: Final = 1.15  # times the height of plain text
HYPHENS: Final = "-\u2010\xad"
ADDRESS_LINES: Final = 3
ADDRESS_WORDS: Final = 4
MARK_REACH: Final = 2.5  # of the height: how far before its item a mark stands

_ITEM: Final = re.compile(
    r"(?!\([cC]\).*\d{4})(?:[•‣◦▪■●○∙·–*➢➤►✓✔❖⁃\uf0b7\uf0a7\uf0d8\uf06e\uf0fc-]"
    r"|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s+\S"
)
_UNDERLINE: Final = re.compile(r"([*#=~^-])\1{2,}")
_PAIR: Final = re.compile(r"[^\W\d_][^:.]{1,34}:(?:\s|$)")
_ENDED: Final = re.compile(r"[.!?:…][\"'”’)\]]*\d{0,2}$")


def cut_into_parts(lines: Sequence[Line], usual: float, page: Page) -> Iterator[list[Line]]:
    """`usual` is the height in which most of the page is set."""
    gap, marks = FLOW_ROW_GAP if page.flow else _find_usual_gap(lines), page.marks
    part: list[Line] = []
    for line in lines:
        if part and (
            _begins_part(line, part, gap)
            or has_mark(line, marks)
            or _ends_paragraph(line, part, gap, usual)
        ):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def is_list_item(text: str) -> bool:
    """Whether text begins as an item of a list does."""
    return bool(_ITEM.match(text))


def has_mark(line: Line, marks: Sequence[Box]) -> bool:
    """Whether a mark is drawn before a line."""
    box = line.box
    far = box.x0 - MARK_REACH * box.height
    return any(
        far < mark.x0 and mark.x1 <= box.x0 and box.y0 < mark.middle < box.y1 for mark in marks
    )


def find_underline(part: Sequence[Line]) -> str:
    """The mark with which a typewriter underlines a heading; empty where there is none."""
    if len(part) != HEADING_WITH_LINE or len(part[0].text) > HEADING_CHARS:
        return ""
    found = _UNDERLINE.fullmatch(part[1].text)
    return found[1] if found and any(map(str.isalpha, part[0].text)) else ""


def line_height(line: Line) -> float:
    return median(word.box.height for word in line.words)


def is_bold(line: Line) -> bool:
    return all(word.bold for word in line.words)


def join_lines(lines: Sequence[str]) -> str:
    """Lines as running text; a word that a hyphen cut at the end of a line is whole again."""
    text = ""
    for line in lines:
        cut = len(text) > 1 and text[-1] in HYPHENS and text[-2].isalpha() and line[:1].islower()
        text = text[:-1] + line if cut else f"{text} {line}" if text else line
    return text


def join_flowing_lines(lines: Sequence[Line]) -> str:
    """Lines as running text; those that end where the next word had room stay lines."""
    right = max(line.box.x1 for line in lines)
    if _is_address(lines):
        right = float("inf")
    runs = [[lines[0].text]]
    for above, line in itertools.pairwise(lines):
        if _had_room(above, line, right):
            runs.append([])
        runs[-1].append(line.text)
    return "\n".join(map(join_lines, runs))


def _is_address(lines: Sequence[Line]) -> bool:
    """Whether lines are short, and each begins anew."""
    short = median(len(line.words) for line in lines) <= ADDRESS_WORDS
    anew = all(not line.text[0].islower() for line in lines)
    return short and anew and len(lines) >= ADDRESS_LINES


def _had_room(above: Line, line: Line, right: float) -> bool:
    space = SPACE * line_height(above)
    return above.box.x1 + space + line.words[0].box.width <= right


def _find_usual_gap(lines: Sequence[Line]) -> float:
    gaps = [
        below.box.y0 - above.box.y1
        for above, below in itertools.pairwise(lines)
        if below.box.y0 > above.box.middle and above.box.shares_width(below.box)
    ]
    return sorted(gaps)[len(gaps) // 3] if gaps else 0.0


def _begins_part(line: Line, part: Sequence[Line], gap: float) -> bool:
    above = part[-1]
    height = line_height(above)
    drop = line.box.y0 - above.box.y1
    if find_underline(part):
        return True
    if drop < -height or not above.box.shares_width(line.box):
        return True
    if drop > max(gap, 0.0) + PARTED * height or _ITEM.match(line.text):
        return True
    if _PAIR.match(line.text) and _PAIR.match(above.text):
        return True
    if abs(line_height(line) - height) > SAME_HEIGHT * height or is_bold(line) != is_bold(above):
        return True
    return len(part) > 1 and line.box.x0 - part[-1].box.x0 > INDENT * height


def _ends_paragraph(line: Line, part: Sequence[Line], gap: float, usual: float) -> bool:
    """Whether the line above ends a paragraph: the next word had room there, and more tells so."""
    above = part[-1]
    height = line_height(above)
    if height > LARGER * usual or is_bold(line):
        return False
    if not _had_room(above, line, max(line.box.x1, *(each.box.x1 for each in part))):
        return False
    if line.box.y0 - above.box.y1 > max(gap, 0.0) + LITTLE * height:
        return True
    indented = line.box.x0 - min(each.box.x0 for each in part) > SMALL_INDENT * height
    return indented or bool(_ENDED.search(above.text) and not line.text[0].islower())
