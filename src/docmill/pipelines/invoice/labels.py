"""Labels found on a sheet, and the values they may stand for: behind, beside or below."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from docmill.pipelines.invoice.layout import Cell, Row, Sheet, beneath
from docmill.pipelines.invoice.lexicon import fold
from docmill.reading.pages import Box

MAX_WORDS: Final = 6
MAX_STARTS: Final = 8
MAX_KEY: Final = 40
REACH: Final = 4.4  # of the height: how far under its label a value may stand
EDGE: Final = 3.0
_TOKEN: Final = re.compile(  # letters set wide apart are one word
    r"(?<!\S)[^\W\d_](?: {1,2}[^\W\d_]){3,}(?!\S)|[^\s:/]+:?|:|/"
)
_NUMBERING: Final = re.compile(r"\(?\d{1,2}[).]\s*(?=[^\W\d])")
_LEAD: Final = re.compile(r"^[\s:=.#>–-]+")
_INSIDE_ID: Final = re.compile(r"[/.-]+\w*\d")
_TWIN: Final = re.compile(
    r"\s*[/(|]\s*[^\W\d][^:\d]{0,30}\s*(?=:|$)"
)  # the label again, translated
_LETTER: Final = re.compile(r"[^\W\d_]")


class Where(IntEnum):
    """Where a value stands, seen from its label."""

    BEHIND = 0
    BESIDE = 1
    BELOW = 2
    FAR_BELOW = 3
    BEFORE = 4


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a cell that could be a label: folded, and where they stand."""

    row: Row
    column: int
    cell: Cell
    start: int
    end: int
    key: str
    first: bool

    @property
    def box(self) -> Box:
        return self.cell.place(self.start, self.end)

    @property
    def closed(self) -> bool:
        """Whether a colon or the end of the cell follows."""
        rest = self.cell.text[self.end - 1 :].lstrip()
        return len(rest) <= 1 or rest[0] == ":" or rest[1:].lstrip()[:1] in {":", ""}

    @property
    def twinned(self) -> bool:
        """Whether the label follows once more, in another language."""
        return bool(_TWIN.match(self.cell.text, self.end))


@dataclass(frozen=True, slots=True)
class Spot:
    """A text where a label's value may stand."""

    cell: Cell
    start: int
    where: Where

    @property
    def text(self) -> str:
        return self.cell.text[self.start :]


def phrases_of(sheet: Sheet) -> list[Phrase]:
    """All that could be a label, longer ones before shorter ones at each place."""
    return [phrase for row, column, cell in sheet.cells for phrase in _phrases(row, column, cell)]


def _phrases(row: Row, column: int, cell: Cell) -> Iterator[Phrase]:
    if not _LETTER.search(cell.text):
        return
    skip = _NUMBERING.match(cell.text)
    tokens = [match.span() for match in _TOKEN.finditer(cell.text, skip.end() if skip else 0)]
    for at, (start, _) in enumerate(tokens[:MAX_STARTS]):
        for end, key in reversed(_keys(cell.text, start, tokens[at : at + MAX_WORDS])):
            yield Phrase(row, column, cell, start, end, key, at == 0)


def _keys(text: str, start: int, tokens: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """The folded words from a place on, one more each time, and where each ends."""
    keys: list[tuple[int, str]] = []
    key, last = "", start
    for _, end in tokens:
        key += fold(text[last:end])
        last = end
        if len(key) > MAX_KEY or _INSIDE_ID.match(text, end):
            break
        if key and text[end - 1] != "/":
            keys.append((end, key))
        if text[end - 1] == ":":
            break
    return keys


def matching(phrases: list[Phrase], pattern: re.Pattern[str]) -> list[Phrase]:
    """The longest phrase that matches from each place, none inside another."""
    found: list[Phrase] = []
    for phrase in phrases:
        if found and found[-1].cell is phrase.cell and phrase.start < found[-1].end:
            continue
        if pattern.fullmatch(phrase.key):
            found.append(phrase)
    return found


def spots(sheet: Sheet, phrase: Phrase) -> Iterator[Spot]:
    """Where the value of a label may stand, likeliest first."""
    twin = _TWIN.match(phrase.cell.text, phrase.end)
    end = twin.end() if twin else phrase.end
    lead = _LEAD.match(phrase.cell.text[end:])
    start = end + (lead.end() if lead else 0)
    if start < len(phrase.cell.text):
        yield Spot(phrase.cell, start, Where.BEHIND)
    for cell in phrase.row.cells[phrase.column + 1 : phrase.column + 3]:
        lead = _LEAD.match(cell.text)
        begin = lead.end() if lead else 0
        if begin < len(cell.text):
            yield Spot(cell, begin, Where.BESIDE)
            break
    for count, (_, cell) in enumerate(beneath(sheet, phrase.row, phrase.box, REACH)):
        yield Spot(cell, 0, Where.FAR_BELOW if count else Where.BELOW)
    if not phrase.first and phrase.end == len(phrase.cell.text):
        yield from _wrapped(sheet, phrase)
    alone = phrase.first and phrase.end == len(phrase.cell.text)
    if alone and phrase.column == len(phrase.row.cells) - 1 > 0:
        yield Spot(phrase.row.cells[-2], 0, Where.BEFORE)


def _wrapped(sheet: Sheet, phrase: Phrase) -> Iterator[Spot]:
    """The next line of a sentence that breaks behind the label."""
    for _, cell in beneath(sheet, phrase.row, phrase.cell.box)[:1]:
        if abs(cell.box.x0 - phrase.cell.box.x0) < EDGE:
            yield Spot(cell, 0, Where.FAR_BELOW)
