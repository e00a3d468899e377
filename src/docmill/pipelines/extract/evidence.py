"""Whether a page shows a value that somebody else told, and in which of its words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from docmill.core.asked import Kind
from docmill.pipelines.extract.fitting import Fit
from docmill.pipelines.extract.normal import Customs
from docmill.reading import dates, numbers
from docmill.reading.dates import folded
from docmill.reading.pages import Line, Page, Word, line_of

_AROUND: Final = ".,;:()[]'\"“”"


@dataclass(frozen=True, slots=True)
class Seen:
    page: int
    words: Line


def seen(pages: Iterable[Page], text: str, kind: Kind, value: Fit, customs: Customs) -> Seen | None:
    """The first place; none for yes and no, which are printed for many things."""
    if kind is Kind.YES_NO:
        return None
    for page in pages:
        if kind in {Kind.TEXT, Kind.ID}:
            found = _run(page.words, text)
        else:
            found = next(_figures(page, kind, value, customs), None)
        if found:
            return Seen(page.number, found)
    return None


def _run(words: Sequence[Word], text: str) -> Line | None:
    """The words of a text one after the other, whatever their case and the marks around them."""
    wanted = [part for word in text.split() if (part := _plain(word))]
    shown = [_plain(word.text) for word in words]
    for at in range(len(shown) - len(wanted) + 1) if wanted else ():
        if shown[at] == wanted[0] and shown[at : at + len(wanted)] == wanted:
            return line_of(words[at : at + len(wanted)])
    return None


def _plain(word: str) -> str:
    return folded(word).strip(_AROUND)


def _figures(page: Page, kind: Kind, value: Fit, customs: Customs) -> Iterator[Line]:
    for line in page.lines:
        for start, end in _spans(line.text, kind, value, customs):
            yield line_of(between(line.words, start, end))


def _spans(text: str, kind: Kind, value: Fit, customs: Customs) -> Iterator[tuple[int, int]]:
    if kind is Kind.DATE:
        for day in dates.find(text, month_first=customs.month_first, packed=True):
            if day.day.isoformat() == value.value:
                yield day.start, day.end
        return
    for number in numbers.find(text, customs.mark):
        if kind is Kind.CURRENCY:
            same = number.currency == value.value
        else:
            same = Decimal(str(value.value)) in number.readings
        if same:
            yield number.start, number.end
    if kind is Kind.CURRENCY and value.value in text.split():
        at = text.index(value.value)
        yield at, at + len(value.value)


def between(words: Sequence[Word], start: int, end: int) -> Sequence[Word]:
    """The words of a line that lie between two of its characters."""
    found: list[Word] = []
    at = 0
    for word in words:
        if at < end and at + len(word.text) > start:
            found.append(word)
        at += len(word.text) + 1
    return found
