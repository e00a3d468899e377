"""The head of an invoice, and its number: candidates by label and place, the best one taken."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.candidates import PLACES, HeaderCandidate, choose_best, make_candidate
from docmill.invoices.reader.currency import find_currency
from docmill.invoices.reader.days import read_days
from docmill.invoices.reader.model import Values, keep_found
from docmill.reading import dates, labels, numbers
from docmill.reading.labels import (
    Phrase,
    TextCell,
    TextRow,
    TextSheet,
    ValueSpot,
    Where,
    find_below,
    find_spots,
    match_labels,
    squeeze,
)
from docmill.reading.pages import Box, Value

STRONG: Final = 1.0  # what a label is worth
MARKED: Final = 0.9
TITLE: Final = 0.7
UNDER_TITLE: Final = 0.65
WEAK: Final = 0.4
SERIAL: Final = 0.25
PREFIXED: Final = 0.35
UPPER: Final = 0.5  # of the page
UNDER: Final = 3.5  # of the title's height
WRAPPED: Final = 1.7  # of the height: how far the lines of one label lie apart
BOXED: Final = 5.5  # of the title's height: how far down a box with three lines goes
LONGEST_TITLE: Final = 40  # characters
SHORT_WORD: Final = 3
_ID: Final = re.compile(r"[A-Za-z0-9][\w/.&#+-]*(?:\s?/\s?[\w.-]+)*")
_NO: Final = re.compile(
    r"(?:\(\d+\)\s*|(?:n\s?[°ºr]|no|num(?:mer|ber|[ée]ro)?|č(?:[íi]slo)?|sz|#)[.:]*\s*[:#]?\s+"
    r"|n\s?[°º]\s*|n\.(?=\d)|[:#]\s*)+",
    re.IGNORECASE,
)
_SPACED: Final = re.compile(
    r"(?!(?:VAT|TVA|IVA|BTW|UST|DPH|NIP|MVA|CVR|CIF|NIF)\b)"
    r"[A-Z]{1,4}(?: [A-Z]{0,8}[-/]?\d[\w/.-]*){1,3}"
    r"|(?:[A-Z]{1,5}|(?:19|20)\d\d) - \d{2,}[\w.-]*(?:\s?/\s?[\w.-]+)*"
)
_YEARLY: Final = re.compile(  # `2025 004222 du 4 mai`
    r"(?:19|20)\d\d \d{4,8}(?=$|\s+[a-zà-ÿ]{1,3}\.?\s+\d)"
)
_PREFIXED: Final = re.compile(
    r"#?\s?((?:INV|INVOICE|BILL|RE|RG|FA|FAC|FACT|FAK|FKT|FV|FT|FE|SI)[-_/]\d[\w/.-]*)"
)
_IN_SERIES: Final = re.compile(r"[A-Z]{0,3}\d{1,3}-\d{2,}")  # `F001-00042`
_BRACKETED: Final = re.compile(r"\s?\(#?((?=[^)]*\d)[A-Z0-9][\w/.-]+)\)")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4,12}){4}")
_ZIP: Final = re.compile(r"[A-Z]{2} \d{5}(?:-\d{4})?")  # `Reno, NV 89501` is a town
_SUFFIXED: Final = re.compile(r"\d[\w.]*-[A-Z]{2,4} [^\W\d_]{4,12}$")
_CENTS: Final = re.compile(r",\d\d(?!\d)")
_MONTH_YEAR: Final = re.compile(r"(?:(?:0?[1-9]|1[0-2])/(?:19|20)\d\d|\d{1,3}%)$")


def read_header(
    sheet: TextSheet,
    phrases: list[Phrase],
    totals: Sequence[Box],
    table: frozenset[int] = frozenset(),
) -> Values:
    """The fields of the whole invoice; `totals` is where its sums stand, `table` its lines."""
    phrases = [*phrases, *_wrapped_labels(sheet)]
    number = find_number(sheet, phrases)
    outside = [phrase for phrase in phrases if not _is_of_line(phrase, table)]
    issued, due = read_days(sheet, outside, number)
    return keep_found(
        {
            "invoice_number": number,
            "issue_date": issued,
            "due_date": due,
            "currency": find_currency(sheet, phrases, totals),
        }
    )


def _is_of_line(phrase: Phrase, table: frozenset[int]) -> bool:
    """Whether a word for a day, not for the invoice's, heads or stands among the lines."""
    if phrase.row.index not in table:
        return False
    return not (lexicon.DATE.fullmatch(phrase.key) or lexicon.DUE.fullmatch(phrase.key))


def _wrapped_labels(sheet: TextSheet) -> Iterator[Phrase]:
    """Labels in two lines, as the narrow columns of a form break them; they end in the second."""
    for row, _, cell in sheet.cells:
        if len(cell.text) < labels.MAX_LABEL_CHARS and ":" not in cell.text:
            for below in sheet.rows[row.index + 1 : row.index + 3]:
                yield from _join_lines(cell, below)


def _join_lines(cell: TextCell, below: TextRow) -> Iterator[Phrase]:
    if below.page != cell.page:
        return
    left = cell.box.x0
    for column, other in enumerate(below.cells):
        if abs(other.box.x0 - left) < labels.EDGE and _is_wrapped(cell, other):
            key = labels.squeeze(cell.text) + labels.squeeze(other.text)
            if key in lexicon.LABELS:
                yield Phrase(below, column, other, 0, len(other.text), key, first=True)


def _is_wrapped(cell: TextCell, below: TextCell) -> bool:
    """Whether two cells at one left edge may be the lines of one label: short words, and close."""
    down = below.box.middle - cell.box.middle
    near = 0 < down < WRAPPED * cell.box.height and abs(below.box.height - cell.box.height) < 1
    text = f"{cell.text} {below.text}"
    return near and len(text) <= labels.MAX_LABEL_CHARS and not any(map(str.isdigit, text))


def find_number(sheet: TextSheet, phrases: list[Phrase]) -> Value | None:
    """The invoice's own number, among order, delivery and customer numbers."""
    found: list[HeaderCandidate] = []
    titles = match_labels(phrases, lexicon.NUMBER_TITLE)
    for phrase in match_labels(phrases, lexicon.NUMBER):
        found += _drop_weight(phrase, _number_candidates(sheet, phrase, STRONG))
    found = _drop_receipts(found, sheet, phrases)
    for phrase in titles:
        found += _whole_number(phrase) or _number_candidates(sheet, phrase, TITLE)
        found += _boxed_number(sheet, phrase)
        found += _bracketed_number(phrase)
    for phrase in match_labels(phrases, lexicon.NUMBER_WEAK):
        titled = phrase.first and any(_is_under_title(phrase, title) for title in titles)
        titled = titled or bool(lexicon.NUMBER_DOCUMENT.fullmatch(phrase.key))
        found += _number_candidates(sheet, phrase, UNDER_TITLE if titled else WEAK)
    for phrase in match_labels(phrases, lexicon.NUMBER_SERIAL):  # a tax invoice has no other
        found += _number_candidates(sheet, phrase, SERIAL)
    return choose_best([*found, *_prefixed_numbers(sheet)])


def _drop_weight(phrase: Phrase, found: Iterable[HeaderCandidate]) -> Iterator[HeaderCandidate]:
    """Numbers, worth less where the label says `document`: that may be a person's, too."""
    less = STRONG - MARKED if lexicon.NUMBER_DOCUMENT.fullmatch(phrase.key) else 0.0
    for candidate in found:
        yield replace(candidate, score=candidate.score - less)


def _drop_receipts(
    found: list[HeaderCandidate], sheet: TextSheet, phrases: list[Phrase]
) -> list[HeaderCandidate]:
    """Numbers but for those of receipts, where another is named: a receipt tells what it pays."""
    receipts = {
        candidate.value
        for phrase in match_labels(phrases, lexicon.NUMBER_RECEIPT)
        for candidate in _number_candidates(sheet, phrase, STRONG)
    }
    return [candidate for candidate in found if candidate.value not in receipts] or found


def _whole_number(phrase: Phrase) -> list[HeaderCandidate]:
    """A number that begins with a short word for an invoice and a blank, as `INV 0042` does."""
    text = phrase.cell.text
    if not phrase.first or len(phrase.key) > SHORT_WORD or not _SPACED.fullmatch(text):
        return []
    return [make_candidate(text, TITLE, cell=phrase.cell, start=0, end=len(text))]


def _bracketed_number(phrase: Phrase) -> Iterator[HeaderCandidate]:
    """A number in brackets behind the word for an invoice: `my invoice (2026/17) for the work`."""
    match = _BRACKETED.match(phrase.cell.text, phrase.start + len(phrase.key))
    if match and not dates.find_dates(match[1]):
        start, end = match.span(1)
        yield make_candidate(match[1], PREFIXED, cell=phrase.cell, start=start, end=end)


def _boxed_number(sheet: TextSheet, title: Phrase) -> Iterator[HeaderCandidate]:
    """A number in series under a title and a tax number, as the boxes of tax forms have them."""
    if not title.first or title.end < len(title.cell.text):
        return
    taxed = False
    for _, cell in find_below(sheet, title.row, title.box, BOXED):
        taxed = taxed or bool(lexicon.TAX_ID.match(squeeze(cell.text)))
        skip = _NO.match(cell.text)
        start = skip.end() if skip else 0
        if taxed and _IN_SERIES.fullmatch(cell.text, start):
            yield make_candidate(
                cell.text[start:], TITLE, cell=cell, start=start, end=len(cell.text)
            )
            return


def _prefixed_numbers(sheet: TextSheet) -> Iterator[HeaderCandidate]:
    """Numbers in the upper half that begin as those of invoices do, with nothing beside them."""
    for _, _, cell in sheet.cells:
        match = _PREFIXED.fullmatch(cell.text)
        if match and cell.page == 1 and cell.box.middle < UPPER * sheet.height(1):
            start, end = match.span(1)
            yield make_candidate(match[1], PREFIXED, cell=cell, start=start, end=end)


def _is_under_title(phrase: Phrase, title: Phrase) -> bool:
    """Whether a label stands right under the word for an invoice, in its width."""
    down = phrase.box.middle - title.box.middle
    near = 0 < down < UNDER * title.box.height and phrase.cell.page == title.cell.page
    bare = title.first and len(title.cell.text) < LONGEST_TITLE
    return near and bare and phrase.cell.box.shares_width(title.cell.box)


def _number_candidates(
    sheet: TextSheet, phrase: Phrase, weight: float
) -> Iterator[HeaderCandidate]:
    before = "" if phrase.first else labels.squeeze(phrase.cell.text[: phrase.start])
    if weight > SERIAL and lexicon.NOT_NUMBER.fullmatch(before + phrase.key):
        return
    short = _is_abbreviation(phrase.cell.text[: phrase.start])
    if before and SERIAL < weight < STRONG and not short:
        title = lexicon.NUMBER_TITLE.fullmatch(labels.squeeze(phrase.cell.text.split()[0]))
        if not title or weight > UNDER_TITLE or len(before) > LONGEST_TITLE:
            return
        weight = MARKED
    for spot in find_spots(sheet, phrase):
        if weight < STRONG and spot.where >= Where.FAR_BELOW:
            return
        found = _number_at(spot, phrase, weight)
        if found and (not short or labels.squeeze(found.value).startswith(before)):
            yield replace(found, score=max(found.score, MARKED)) if short else found
        if found or short or _ends_search(spot, weight):
            return


def _number_at(spot: ValueSpot, phrase: Phrase, weight: float) -> HeaderCandidate | None:
    """The number that a text begins with, behind a sign for numbers or none."""
    strong = weight == STRONG
    skip = _NO.match(spot.text)
    start = spot.start + (skip.end() if skip else 0)
    made = _leading_id(spot.cell.text[start:], sure=strong or bool(skip))
    town = spot.cell.text[:start].rstrip().endswith(",")
    if not made or (town and _ZIP.fullmatch(made)):
        return None
    sign = bool(skip) or "#" in spot.cell.text[phrase.end : spot.start]
    marked = sign and weight == TITLE
    score = (MARKED if marked else weight) - PLACES[spot.where] * (1 if strong else 1.5)
    score -= _oddness(made, plain=marked or weight == UNDER_TITLE)
    score -= 0.05 * (phrase.cell.page - 1)
    return make_candidate(made, score, cell=spot.cell, start=start, end=start + len(made))


def _ends_search(spot: ValueSpot, weight: float) -> bool:
    """Whether words behind a label say that no number follows; `Invoice A` has its own below."""
    if spot.where is not Where.BEHIND or (len(spot.text) <= 2 and weight == TITLE):
        return False
    return weight != STRONG or ":" in spot.text


def _is_abbreviation(text: str) -> bool:
    """Whether letters before a label may be those that the number itself begins with."""
    return bool(re.fullmatch(r"[A-Z]{2,4}\s+", text))


def _leading_id(text: str, *, sure: bool) -> str:
    """The number at the start of a text; empty where it starts with something else.

    `12/2024` is a month unless a label or a sign makes it `sure`.
    """
    match = _ID.match(text)
    if not match:
        return ""
    inner = dates.find_dates(match[0])
    made = (match[0][: inner[0].start] if inner and inner[0].start else match[0]).rstrip(" .-/&+#")
    if re.match(r"[^\s,;]", text[match.end() :]):
        return ""
    made = _add_words(text, made)
    if not made or _is_date(text[: len(made) + 16], len(made)):
        return ""
    if made.isdigit() and _CENTS.match(text, len(made)):
        return ""
    figures = numbers.find_numbers(text)
    if figures and figures[0].start == 0 and (figures[0].currency or figures[0].percent):
        return ""
    if (_MONTH_YEAR.fullmatch(made) and not sure) or re.match(r"\d+[.,]\d\d$", made):
        return ""
    return made


def _add_words(text: str, made: str) -> str:
    """A number with what belongs to it behind a blank; empty where it has no figure."""
    joined = _SPACED.match(text)
    if joined and (joined.end() == len(text) or not any(char.isdigit() for char in made)):
        return joined[0].rstrip(".-/")
    if whole := _SUFFIXED.match(text) or _YEARLY.match(text):
        return whole[0]
    return made if any(char.isdigit() for char in made) else ""


def _is_date(text: str, end: int) -> bool:
    """Whether a text begins with a date, and the number that ends there is no more than it."""
    found = dates.find_dates(text)
    return bool(found) and found[0].start == 0 and found[0].end >= end


def _oddness(made: str, *, plain: bool) -> float:
    """How unlike an invoice number it looks; a short one is none unless a sign says so."""
    if _UUID.fullmatch(made):
        return 0.7
    figures = sum(char.isdigit() for char in made)
    short = 0.0 if plain else (0.3 if len(made) < 3 else 0.0) + (0.2 if figures < 2 else 0.0)
    return short + (0.3 if len(made) > 30 else 0.0)
