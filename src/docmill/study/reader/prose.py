"""The running text of a document: lines without headers and footers, put together to sentences."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from docmill.reading.pages import Line, Page
from docmill.study.reader.lexicon import read_words

EDGE_LINES: Final = 3  # of a page's lines, at its top and bottom: there stand headers and footers
REPEATS: Final = 3
HEADER_WORDS: Final = 14
GAP: Final = 0.7  # of the line's height: wider than this begins a paragraph
INDENT: Final = 1.0
TALLER: Final = 1.25  # a heading's letters
SHORT: Final = 0.7  # of the widest line

_FIGURES: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"[\W_]*(?:(?:page|seite|p\.|pág(?:ina)?|halaman)\s*)?(?:\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:of|von|de|dari|/)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"[.!?:…]['\"”’)\]*_]*$")
_SPLIT: Final = re.compile(r"[.!?…]+['\"”’)\]*_]*(?=\s+[\"'`“‘(\[*_—-]*[^\W\d_a-z]|\s*$)")
_SHORT_FORMS: Final = read_words("abbreviations.txt")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Its text and page. `verbatim`: no word of it was mended where a line ended, and no page
    ends in it, where a footer may stand between its words."""

    text: str
    page: int
    verbatim: bool


@dataclass(slots=True)
class _Paragraph:
    text: str = ""
    starts: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    mended: list[int] = field(default_factory=list[int])

    def add(self, line: str, page: int, joins: Callable[[str], bool]) -> None:
        """A line more; a word that was cut at the end of the last one is made whole."""
        head, cut, first = self.text.rpartition(" ")[2], self.text.endswith("-"), line.split(" ")[0]
        if cut and len(head) > 1 and first[:1].islower():
            if joins(head[:-1] + first):
                self.text = self.text[:-1]
            self.mended.append(len(self.text))
        elif self.text:
            self.text += " "
        if not self.starts or self.starts[-1][1] != page:
            self.starts.append((len(self.text), page))
        self.text += line

    def page_at(self, place: int) -> int:
        return next(page for start, page in reversed(self.starts) if start <= place)


def find_sentences(
    pages: Sequence[Page], joins: Callable[[str], bool], *, wrapped: bool = True
) -> Iterator[Sentence]:
    """Every sentence in reading order. `joins` says whether two halves of a word make one.

    `wrapped`: a paragraph may go on in the next line, as it does wherever lines have a width.
    """
    leaves = not any(page.flow for page in pages[:1])
    for paragraph in _find_paragraphs(pages, joins, wrapped=wrapped):
        start = 0
        for end in _find_ends(paragraph.text):
            text = paragraph.text[start:end].strip()
            if text:
                mended = any(start < place < end for place in paragraph.mended)
                page = paragraph.page_at(start)
                turned = leaves and paragraph.page_at(end - 1) != page
                yield Sentence(text, page, not (mended or turned))
            start = end


def _find_ends(text: str) -> Iterator[int]:
    for found in _SPLIT.finditer(text):
        last = text[: found.start()].rpartition(" ")[2].strip("(\"'“‘[*_").lower()
        initial = len(last) == 1 and last.isalpha() and last not in {"i", "a", "o"}
        if found.group()[0] != "." or not (initial or last.replace(".", "") in _SHORT_FORMS):
            yield found.end()
    yield len(text)


def _find_paragraphs(
    pages: Sequence[Page], joins: Callable[[str], bool], *, wrapped: bool
) -> Iterator[_Paragraph]:
    repeated = _find_repeated(pages)
    paragraph, before = _Paragraph(), None
    for page in pages:
        widest = max((line.box.x1 for line in page.lines), default=0.0)
        for at, line in enumerate(page.lines):
            if _is_furniture(line, at, page, repeated):
                continue
            if before and (not wrapped or _begins_paragraph(before, line, widest)):
                yield paragraph
                paragraph = _Paragraph()
            paragraph.add(line.text, page.number, joins)
            before = line
    yield paragraph


def _begins_paragraph(before: Line, line: Line, widest: float) -> bool:
    """Whether a line begins a paragraph: after a gap, set in, of other size, or after an end."""
    ended = _ENDS.search(before.text) is not None
    gap = line.box.y0 - before.box.y1
    if gap < -line.box.height:  # the top of another page or column
        return ended
    height = max(before.box.height, line.box.height)
    taller = height > TALLER * max(min(before.box.height, line.box.height), 0.1)
    if gap > GAP * height or taller:
        return True
    short = before.box.x1 < SHORT * widest
    return ended and (short or line.box.x0 - before.box.x0 > INDENT * height)


def _shape_of(text: str) -> str:
    return _FIGURES.sub("#", text.casefold())


def _edge_lines(page: Page) -> Sequence[Line]:
    """Where headers and footers stand. Pages of plain text are cut anywhere, so all of them."""
    if page.flow or len(page.lines) <= 2 * EDGE_LINES:
        return page.lines
    return (*page.lines[:EDGE_LINES], *page.lines[-EDGE_LINES:])


def _find_repeated(pages: Sequence[Page]) -> frozenset[str]:
    """Short lines that come again on page after page."""
    counts: Counter[str] = Counter()
    for page in pages:
        lines = (line for line in _edge_lines(page) if len(line.words) <= HEADER_WORDS)
        counts.update({_shape_of(line.text) for line in lines})
    least = max(REPEATS, len(pages) // 5)
    return frozenset(shape for shape, count in counts.items() if count >= least)


def _is_furniture(line: Line, at: int, page: Page, repeated: frozenset[str]) -> bool:
    edge = page.flow or at < EDGE_LINES or at >= len(page.lines) - EDGE_LINES
    if not edge:
        return False
    return _shape_of(line.text) in repeated or _PAGE_NUMBER.fullmatch(line.text) is not None


PLACES: Final = 24  # of a word are remembered: more say nothing new
WORD: Final = re.compile(r"(?<![\w'’.@/])[^\W\d_]+(?:-[^\W\d_]+)*(?![\w@/])")
_COUNTED: Final = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class FormCount:
    """One form of a word. `named`: how often it had a capital, and not as a sentence's first."""

    form: str
    plain: int
    named: int
    places: tuple[int, ...]

    @property
    def is_name(self) -> bool:
        """Or part of names and titles often enough to be taken for one."""
        return 2 * self.named >= self.plain


def count_words(sentences: Sequence[Sentence]) -> int:
    return sum(
        _COUNTED.search(word) is not None for each in sentences for word in each.text.split()
    )


def lower_words(sentences: Sequence[Sentence]) -> Iterator[str]:
    """All words in small letters, for finding out the language."""
    return (word.lower() for each in sentences for word in WORD.findall(each.text))


def count_forms(
    sentences: Sequence[Sentence], *, capitals: bool = False
) -> Mapping[str, FormCount]:
    """The forms that stand in small letters. `capitals`: nouns do not, as in German."""
    plain: Counter[str] = Counter()
    named: Counter[str] = Counter()
    places: dict[str, list[int]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        if not capitals and _is_title(sentence.text):
            continue
        for at, found in enumerate(WORD.finditer(sentence.text)):
            word = found.group()
            if word.islower() or (capitals and at and _is_noun(sentence.text, found)):
                plain[word] += 1
                _remember(places[word], number)
            elif at:
                named[word if capitals else word.lower()] += 1
    return {form: FormCount(form, plain[form], named[form], tuple(places[form])) for form in plain}


def _is_noun(text: str, found: re.Match[str]) -> bool:
    """Whether a word with a capital is no name: names stand side by side, as nouns do not."""
    before, after = text[: found.start()].rstrip(), text[found.end() :].lstrip()
    last = before.rpartition(" ")[2]
    # The first word of a sentence has a capital whatever it is.
    beside = (last[:1].isupper() and last[-1:].isalpha() and last != before) or (
        after[:1].isupper() and text[found.end() : found.end() + 1] == " "
    )
    return not (found.group().isupper() or beside)


def _remember(places: list[int], number: int) -> None:
    if len(places) < PLACES and number not in places[-1:]:
        places.append(number)


def _is_title(text: str) -> bool:
    """Titles, where capitals say nothing: most words begin with one."""
    words = WORD.findall(text)
    capital = sum(word[0].isupper() for word in words)
    return len(words) > 1 and 2 * capital > len(words) + 1
