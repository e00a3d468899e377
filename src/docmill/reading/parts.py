"""Lines that belong together, cut where a reader sees a new paragraph, item or heading begin."""

import itertools
import re
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from docmill.reading.flow import ROW_GAP
from docmill.reading.pages import Box, Line, Page

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


def parts_of(lines: Sequence[Line], usual: float, page: Page) -> Iterator[list[Line]]:
    """`usual` is the height in which most of the page is set."""
    gap, marks = ROW_GAP if page.flow else _usual_gap(lines), page.marks
    part: list[Line] = []
    for line in lines:
        if part and (
            _begins(line, part, gap) or marked(line, marks) or _ended(line, part, gap, usual)
        ):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def is_item(text: str) -> bool:
    """Whether text begins as an item of a list does."""
    return bool(_ITEM.match(text))


def marked(line: Line, marks: Sequence[Box]) -> bool:
    """Whether a mark is drawn before a line."""
    box = line.box
    far = box.x0 - MARK_REACH * box.height
    return any(
        far < mark.x0 and mark.x1 <= box.x0 and box.y0 < mark.middle < box.y1 for mark in marks
    )


def underline(part: Sequence[Line]) -> str:
    """The mark with which a typewriter underlines a heading; empty where there is none."""
    if len(part) != HEADING_WITH_LINE or len(part[0].text) > HEADING_CHARS:
        return ""
    found = _UNDERLINE.fullmatch(part[1].text)
    return found[1] if found and any(map(str.isalpha, part[0].text)) else ""


def height_of(line: Line) -> float:
    return median(word.box.height for word in line.words)


def is_bold(line: Line) -> bool:
    return all(word.bold for word in line.words)


def joined(lines: Sequence[str]) -> str:
    """Lines as running text; a word that a hyphen cut at the end of a line is whole again."""
    text = ""
    for line in lines:
        cut = len(text) > 1 and text[-1] in HYPHENS and text[-2].isalpha() and line[:1].islower()
        text = text[:-1] + line if cut else f"{text} {line}" if text else line
    return text


def flowed(lines: Sequence[Line]) -> str:
    """Lines as running text; those that end where the next word had room stay lines."""
    right = max(line.box.x1 for line in lines)
    if _is_address(lines):
        right = float("inf")
    runs = [[lines[0].text]]
    for above, line in itertools.pairwise(lines):
        if _had_room(above, line, right):
            runs.append([])
        runs[-1].append(line.text)
    return "\n".join(map(joined, runs))


def _is_address(lines: Sequence[Line]) -> bool:
    """Whether lines are short, and each begins anew."""
    short = median(len(line.words) for line in lines) <= ADDRESS_WORDS
    anew = all(not line.text[0].islower() for line in lines)
    return short and anew and len(lines) >= ADDRESS_LINES


def _had_room(above: Line, line: Line, right: float) -> bool:
    space = SPACE * height_of(above)
    return above.box.x1 + space + line.words[0].box.width <= right


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
    height = height_of(above)
    drop = line.box.y0 - above.box.y1
    if underline(part):
        return True
    if drop < -height or not _overlaps(above.box, line.box):
        return True
    if drop > max(gap, 0.0) + PARTED * height or _ITEM.match(line.text):
        return True
    if _PAIR.match(line.text) and _PAIR.match(above.text):
        return True
    if abs(height_of(line) - height) > SAME_HEIGHT * height or is_bold(line) != is_bold(above):
        return True
    return len(part) > 1 and line.box.x0 - part[-1].box.x0 > INDENT * height


def _ended(line: Line, part: Sequence[Line], gap: float, usual: float) -> bool:
    """Whether the line above ends a paragraph: the next word had room there, and more tells so."""
    above = part[-1]
    height = height_of(above)
    if height > LARGER * usual or is_bold(line):
        return False
    if not _had_room(above, line, max(line.box.x1, *(each.box.x1 for each in part))):
        return False
    if line.box.y0 - above.box.y1 > max(gap, 0.0) + LITTLE * height:
        return True
    indented = line.box.x0 - min(each.box.x0 for each in part) > SMALL_INDENT * height
    return indented or bool(_ENDED.search(above.text) and not line.text[0].islower())
