"""Where on its pages a value stands that somebody else has read.

Numbers in either convention, dates however written, texts whatever their case, spaces and breaks.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final

from docmill.reading import dates, numbers
from docmill.reading.labels import TextCell, fold_accents, make_cell
from docmill.reading.numbers import DecimalMark
from docmill.reading.orders import count_words, find_ordering_lines
from docmill.reading.pages import Box, Line, Page, Word, bounding_box

SENTENCE: Final = 7  # so many words beside a value make it part of a sentence
BELOW: Final = 2.5  # of the height: so far under a cell its text may go on
MOST_BREAKS: Final = 6
_GLUED: Final = re.compile(
    r"(?<![\w.,])\d[\d.,]*(?=[^\W\d_]{1,4}\b)|(?<=[xX×@])\d[\d.,]*(?![\w.,])"
)


@dataclass(frozen=True, slots=True)
class PageMatch:
    """A place where a value stands, and the value as the page has it.

    `told`: within a sentence, not by itself. `ordered`: in one that gives orders to a reader.
    `sure`: the page can mean nothing else by it.
    """

    value: str
    page: int
    box: Box
    text: str
    told: bool = False
    ordered: bool = False
    sure: bool = True

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """Small is good."""
        return self.ordered, self.told, not self.sure


@dataclass(frozen=True, slots=True)
class PageCell:
    """A cell of a line, with the numbers and dates in it."""

    cell: TextCell
    ordered: bool
    words: int
    figures: tuple[numbers.Number, ...]
    days: tuple[dates.FoundDate, ...]

    def match(self, value: str, start: int, end: int, *, sure: bool = True) -> PageMatch:
        text = self.cell.text[start:end]
        told = self.words - count_words(text) >= SENTENCE
        box = self.cell.place(start, end)
        return PageMatch(value, self.cell.page, box, text, told, self.ordered, sure)


class PageSearch:
    """Pages that were looked through once, to be asked for many values."""

    def __init__(
        self, pages: Iterable[Page], mark: DecimalMark = "", *, month_first: bool = False
    ) -> None:
        self._cells: list[PageCell] = []
        self._texts: list[PageString] = []
        for page in pages:
            ordering = find_ordering_lines(page)
            cells = [
                _look_at(cell, page.number, mark, month_first=month_first, ordered=at in ordering)
                for at, line in enumerate(page.lines)
                for cell in line.cells
            ]
            self._cells += cells
            self._texts.append(PageString(page, cells))
        self.gives_orders: bool = any(cell.ordered for cell in self._cells)
        self._by_number: dict[Decimal, list[tuple[PageCell, numbers.Number, int]]] = {}
        for cell in self._cells:
            for figure in cell.figures:
                for at, reading in enumerate(figure.readings):
                    self._by_number.setdefault(reading, []).append((cell, figure, at))

    def find_number(
        self, wanted: Collection[Decimal], *, signless: bool = False
    ) -> list[PageMatch]:
        """Where one of these numbers is printed; `signless`: a minus before it does not matter."""
        signs = (1, -1) if signless else (1,)
        asked = dict.fromkeys(sign * number for number in wanted for sign in signs)
        found: dict[tuple[int, int], PageMatch] = {}
        for cell, figure, at in (place for one in asked for place in self._by_number.get(one, ())):
            reading = figure.readings[at]
            value = f"{abs(reading) if signless else reading:f}"
            match = cell.match(value, figure.start, figure.end, sure=at == 0)
            place = (id(cell), figure.start)
            if place not in found or match.sure:
                found[place] = match
        return list(found.values())

    def find_date(self, wanted: date) -> list[PageMatch]:
        """Also where day and month might be the other way round, but that is less sure."""
        found: list[PageMatch] = []
        for cell in self._cells:
            for day in cell.days:
                if wanted in (day.day, day.other):
                    same = wanted == day.day
                    found.append(cell.match(wanted.isoformat(), day.start, day.end, sure=same))
        return found

    def find_currency(self, code: str) -> list[PageMatch]:
        """Its code as a word, or the sign of it beside a number."""
        word = re.compile(rf"(?<![A-Za-z]){re.escape(code)}(?![A-Za-z])")
        found: list[PageMatch] = []
        for cell in self._cells:
            found += [cell.match(code, *match.span()) for match in word.finditer(cell.cell.text)]
            for figure in cell.figures:
                if figure.currency == code:
                    found.append(cell.match(code, figure.start, figure.end))
        return found

    def is_ordered(self, page: int, box: Box) -> bool:
        """Whether a sentence that gives orders stands in a box."""
        return any(
            cell.ordered and cell.cell.page == page and box.holds(cell.cell.box)
            for cell in self._cells
        )

    def find_text(self, text: str) -> list[PageMatch]:
        wanted = compact(text)
        if not wanted:
            return []
        return [match for page in self._texts for match in page.find(wanted, text)]


def _look_at(
    line: Line, page: int, mark: DecimalMark, *, month_first: bool, ordered: bool
) -> PageCell:
    cell = make_cell(line.words, page, wide=" ")
    days = dates.find_dates(cell.text, month_first=month_first, packed=True)
    figures = [*numbers.find_numbers(cell.text, mark), *_find_glued(cell.text, mark)]
    return PageCell(cell, ordered, count_words(cell.text), tuple(figures), tuple(days))


def _find_glued(text: str, mark: DecimalMark) -> Iterator[numbers.Number]:
    """Numbers with their unit glued on, such as `3pcs` or `2x`."""
    for match in _GLUED.finditer(text):
        if readings := numbers.interpret_digits(match[0].rstrip(".,"), mark):
            yield numbers.Number(readings, *match.span())


@lru_cache(maxsize=32768)
def compact(text: str) -> str:
    """Letters and figures of any script, small, without accents, spaces and signs."""
    return "".join(char for char in fold_accents(text) if char.isalnum())


class PageString:
    """The words of a page in one string, to find texts that go over several lines."""

    def __init__(self, page: Page, cells: Sequence[PageCell]) -> None:
        self._page: int = page.number
        self._cells: Sequence[PageCell] = cells
        self._words: list[tuple[Word, PageCell]] = [
            (word, cell) for cell in cells for word in cell.cell.words if compact(word.text)
        ]
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        parts: list[str] = []
        place = 0
        for index, (word, _) in enumerate(self._words):
            parts.append(compact(word.text))
            self._starts[place] = index
            place += len(parts[-1])
            self._ends[place] = index + 1
        self._string: str = "".join(parts)
        self._by_word: dict[str, list[tuple[PageCell, int]]] = {}
        for cell in cells:
            for at, word in enumerate(cell.cell.words):
                self._by_word.setdefault(compact(word.text), []).append((cell, at))

    def find(self, wanted: str, text: str) -> list[PageMatch]:
        """Where whole words make up the text: one after the other, or under each other."""
        found: list[PageMatch] = []
        at = self._string.find(wanted)
        while at >= 0:
            first, last = self._starts.get(at), self._ends.get(at + len(wanted))
            if first is not None and last is not None:
                found.append(self._make_match(self._words[first:last], text))
            at = self._string.find(wanted, at + 1)
        return found or [self._make_match(run, text) for run in self._find_columns(wanted)]

    def _make_match(self, run: Sequence[tuple[Word, PageCell]], text: str) -> PageMatch:
        cells = {id(cell): cell for _, cell in run}.values()
        around = max(cell.words for cell in cells) - count_words(text)
        return PageMatch(
            " ".join(word.text for word, _ in run),
            self._page,
            bounding_box([word.box for word, _ in run]),
            " ".join(word.text for word, _ in run),
            around >= SENTENCE,
            any(cell.ordered for cell in cells),
        )

    def _find_columns(self, wanted: str) -> Iterator[list[tuple[Word, PageCell]]]:
        """Texts that go on in the cell below, where another column stands beside them."""
        starts = (wanted[:size] for size in range(1, len(wanted)))
        for cell, at in (place for start in starts for place in self._by_word.get(start, ())):
            words = cell.cell.words[at:]
            head = "".join(compact(word.text) for word in words)
            if wanted.startswith(head) and head != wanted:
                rest = self._go_on(cell, wanted[len(head) :], MOST_BREAKS)
                if rest:
                    yield [*((word, cell) for word in words), *rest]

    def _go_on(
        self, above: PageCell, wanted: str, breaks: int
    ) -> list[tuple[Word, PageCell]] | None:
        for cell in self._cells_below(above) if breaks else ():
            taken: list[tuple[Word, PageCell]] = []
            left = wanted
            for word in cell.cell.words:
                part = compact(word.text)
                if not left.startswith(part):
                    break
                left = left[len(part) :]
                taken.append((word, cell))
                if not left:
                    return taken
            whole = len(taken) == len(cell.cell.words)
            rest = self._go_on(cell, left, breaks - 1) if taken and whole else None
            if rest:
                return [*taken, *rest]
        return None

    def _cells_below(self, above: PageCell) -> Iterator[PageCell]:
        box = above.cell.box
        for cell in self._cells:
            down = cell.cell.box.middle - box.middle
            if 0.4 * box.height < down <= BELOW * box.height and box.shares_width(cell.cell.box):
                yield cell
