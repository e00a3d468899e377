"""Number, dates and currency of an invoice: candidates by label and place, the best one taken."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from docmill.pipelines.invoice import lexicon
from docmill.pipelines.invoice.labels import Phrase, Spot, Where, matching, spots
from docmill.pipelines.invoice.layout import Cell, Row, Sheet, beneath
from docmill.pipelines.invoice.model import Value
from docmill.reading import dates, numbers
from docmill.reading.pages import Box

SHORT: Final = 40  # characters: what may be a label
SERIAL: Final = 0.25
AGAIN: Final = 0.06  # for each further place that says the same
_ID: Final = re.compile(r"[A-Za-z0-9][\w/.&#+-]*(?:\s?/\s?[\w.-]+)*")
_NO: Final = re.compile(
    r"(?:\(\d+\)\s*|(?:n[°ºr]|no|num(?:mer|ber|[ée]ro)?|#)[.:]*\s*[:#]?\s+|[:#]\s*)+", re.IGNORECASE
)
_SPACED: Final = re.compile(r"[A-Z]{1,4}(?: \d[\w/.-]*){1,3}")
_MONTH_YEAR: Final = re.compile(r"(?:(?:0?[1-9]|1[0-2])/(?:19|20)\d\d|\d{1,3}%)$")
_PLACES: Final = {
    Where.BEHIND: 0.0,
    Where.BESIDE: 0.02,
    Where.BELOW: 0.08,
    Where.FAR_BELOW: 0.3,
    Where.BEFORE: 0.35,
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value somebody may mean, how well it is supported, and where it stands."""

    value: str
    score: float
    page: int
    box: Box
    text: str


def best(candidates: Iterable[Candidate], least: float = 0.2) -> Value | None:
    """The best supported value; sure when no other one comes near."""
    support: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        support[candidate.value].append(candidate)
    ranked = sorted(
        (
            (max(item.score for item in same) + AGAIN * min(len(same) - 1, 3), same)
            for same in support.values()
        ),
        key=lambda pair: -pair[0],
    )
    if not ranked or ranked[0][0] < least:
        return None
    top, same = ranked[0]
    chosen = max(same, key=lambda item: item.score)
    margin = top - ranked[1][0] if len(ranked) > 1 else top
    confidence = min(0.99, max(0.05, 0.45 + 0.4 * min(top, 1) + 0.5 * min(margin, 0.3)))
    return Value(chosen.value, round(confidence, 2), chosen.page, chosen.box, chosen.text)


def number(sheet: Sheet, phrases: list[Phrase]) -> Value | None:
    """The invoice's own number, among order, delivery and customer numbers."""
    found: list[Candidate] = []
    kinds = ((lexicon.NUMBER, 1.0), (lexicon.NUMBER_TITLE, 0.7), (lexicon.NUMBER_WEAK, 0.4))
    for pattern, weight in kinds:
        for phrase in matching(phrases, pattern):
            found += _numbers(sheet, phrase, weight)
    for phrase in matching(phrases, lexicon.NUMBER_SERIAL):  # a tax invoice has no other
        found += _numbers(sheet, phrase, SERIAL)
    return best(found)


def _numbers(sheet: Sheet, phrase: Phrase, weight: float) -> Iterator[Candidate]:
    before = "" if phrase.first else lexicon.fold(phrase.cell.text[: phrase.start])
    strong = weight == 1.0
    if weight > SERIAL and lexicon.NOT_NUMBER.fullmatch(before + phrase.key):
        return
    if before and SERIAL < weight < 1:
        title = lexicon.NUMBER_TITLE.fullmatch(lexicon.fold(phrase.cell.text.split()[0]))
        if not title or weight > 0.5 or len(before) > 40:
            return
        weight = 0.9
    for spot in spots(sheet, phrase):
        if not strong and spot.where >= Where.FAR_BELOW:
            return
        text = spot.text
        skip = _NO.match(text)
        start = spot.start + (skip.end() if skip else 0)
        made = _id(spot.cell.text[start:])
        if made:
            score = weight - _PLACES[spot.where] * (1 if strong else 1.5) - _oddness(made)
            score -= 0.05 * (phrase.cell.page - 1)
            yield _candidate(made, score, spot.cell, start, start + len(made))
            return
        if spot.where is Where.BEHIND and (strong is False or ":" in text):
            return


def _id(text: str) -> str:
    """The number at the start of a text; empty where it starts with something else."""
    match = _ID.match(text)
    if not match:
        return ""
    made = match[0].rstrip(".-/&+#")
    if re.match(r"[^\s,;]", text[match.end() :]):
        return ""
    joined = _SPACED.match(text)
    if joined and (joined.end() == len(text) or not any(char.isdigit() for char in made)):
        made = joined[0].rstrip(".-/")
    elif not any(char.isdigit() for char in made):
        made = ""
    if not made or (
        dates.find(text[: len(made) + 16]) and dates.find(text[: len(made) + 16])[0].start == 0
    ):
        return ""
    figures = numbers.find(text)
    if figures and figures[0].start == 0 and (figures[0].currency or figures[0].percent):
        return ""
    if _MONTH_YEAR.fullmatch(made) or re.match(r"\d+[.,]\d\d$", made):
        return ""
    return made


def _oddness(made: str) -> float:
    """How unlike an invoice number it looks."""
    figures = sum(char.isdigit() for char in made)
    short = 0.3 if len(made) < 3 else 0.0
    return short + (0.2 if figures < 2 else 0.0) + (0.3 if len(made) > 30 else 0.0)


def _candidate(value: str, score: float, cell: Cell, start: int, end: int) -> Candidate:
    return Candidate(value, score, cell.page, cell.place(start, end), cell.text[start:end])


def issue_date(sheet: Sheet, phrases: list[Phrase], number: Value | None) -> Value | None:
    """The day of the invoice: by its label, beside its number, or the first date of the page."""
    found: list[Candidate] = []
    kinds = ((lexicon.DATE, 1.0), (lexicon.DATE_PLAIN, 0.8), (lexicon.DATE_LOOSE, 0.6))
    for pattern, weight in kinds:
        for phrase in matching(phrases, pattern):
            before = "" if phrase.first else lexicon.fold(phrase.cell.text[: phrase.start])
            if weight < 1 and not _plain(before + (phrase.key if weight < 0.8 else "")):
                continue
            found += _dates(sheet, phrase, weight)
    for row in sheet.rows:
        found += _loose_dates(sheet, row, number)
    return best(found, 0.1)


def _plain(before: str) -> bool:
    """Whether what stands before `date` leaves it the invoice's: nothing, a town or a title."""
    return not lexicon.NOT_DATE.fullmatch(before) and not before.endswith(("nr", "no"))


def _dates(sheet: Sheet, phrase: Phrase, weight: float) -> Iterator[Candidate]:
    for spot in spots(sheet, phrase):
        found = dates.find(spot.text, month_first=sheet.month_first, packed=weight == 1.0)
        if found and found[0].start <= 12 and not _other_label(spot, found[0].start):
            at = spot.start + found[0].start
            score = weight - _PLACES[spot.where] - 0.05 * (spot.cell.page - 1)
            end = spot.start + found[0].end
            yield _candidate(found[0].day.isoformat(), score, spot.cell, at, end)
            return
        if spot.where is Where.BEHIND and spot.text.strip(" :()"):
            return


def _other_label(spot: Spot, upto: int) -> bool:
    """Whether words between label and date make it another date (`Date de facture associée`)."""
    between = spot.text[:upto]
    return bool(lexicon.NOT_DATE.fullmatch(lexicon.fold(between))) or (
        spot.where is Where.BEHIND and between.rstrip().endswith(":")
    )


def _loose_dates(sheet: Sheet, row: Row, number: Value | None) -> Iterator[Candidate]:
    """Dates without a label of their own; better high up, and better still beside the number."""
    for column, cell in enumerate(row.cells):
        for found in dates.find(cell.text, month_first=sheet.month_first):
            own = cell.text[: found.start].strip()
            left = row.cells[column - 1].text if column and not own else ""
            before = lexicon.fold(own or left)
            height = cell.box.middle / sheet.height(cell.page) + (cell.page - 1)
            score = 0.4 - 0.3 * min(height, 1)
            if (
                number
                and number.value in row.text
                and before.endswith(("vom", "du", "date", "den"))
            ):
                score = 0.85
            elif re.search(r"[^\W\d_]{3,},\s*(?:den|le|the)?\s*$", cell.text[: found.start]):
                score = 0.75 - 0.2 * min(height, 1)
            elif lexicon.NOT_DATE.fullmatch(before) or len(before) > 25:
                score = 0.05
            yield _candidate(found.day.isoformat(), score, cell, found.start, found.end)


def due_date(sheet: Sheet, phrases: list[Phrase], issued: Value | None) -> Value | None:
    """The day by which to pay, where the page says one."""
    found: list[Candidate] = []
    for phrase in matching(phrases, lexicon.DUE):
        found += _dates(sheet, phrase, 1.0)
    for row in sheet.rows:
        found += _due_prose(sheet, row)
    day = date.fromisoformat(issued.value) if issued else None
    return best((item for item in found if not day or item.value >= day.isoformat()), 0.3)


def _due_prose(sheet: Sheet, row: Row) -> Iterator[Candidate]:
    """`Zahlbar ... bis 04.04.2018`: the first date behind words that speak of paying by a day."""
    for column, cell in enumerate(row.cells):
        word = lexicon.DUE_PROSE.search(cell.text)
        if not word:
            continue
        text = cell.text[word.start() :]
        found = dates.find(text, month_first=sheet.month_first)
        if lexicon.NOT_DUE.search(text[: found[0].start] if found else text):
            continue
        if found and lexicon.BY.search(text[: found[0].start]):
            start, end = word.start() + found[0].start, word.start() + found[0].end
            yield _candidate(found[0].day.isoformat(), 0.8, cell, start, end)
        elif not found and len(cell.text) < SHORT and lexicon.BY.search(cell.text):
            yield from _beside(sheet, row, column)


def _beside(sheet: Sheet, row: Row, column: int) -> Iterator[Candidate]:
    """The date next to a short text, or right under it."""
    box = row.cells[column].box
    near = [*row.cells[column + 1 : column + 2], *(cell for _, cell in beneath(sheet, row, box))]
    for cell in near[:2]:
        found = dates.find(cell.text, month_first=sheet.month_first)
        if found and found[0].start < 4:
            day = found[0]
            yield _candidate(day.day.isoformat(), 0.7, cell, day.start, day.end)
            return


def currency(sheet: Sheet, phrases: list[Phrase], totals: Sequence[Box]) -> Value | None:
    """The currency a label names, else the one that stands with the amounts, or the totals."""
    found: list[Candidate] = []
    for phrase in matching(phrases, lexicon.CURRENCY):
        for spot in spots(sheet, phrase):
            code = next(iter(_codes(spot.text)), None)
            if code:
                found.append(
                    _candidate(code[0], 1.2, spot.cell, spot.start + code[1], spot.start + code[2])
                )
                break
    counts: Counter[str] = Counter()
    seen: dict[str, Candidate] = {}
    for _, _, cell in sheet.cells:
        for code, start, end in _codes(cell.text):
            counts[code] += 1 + 2 * any(abs(cell.box.middle - box.middle) < 3 for box in totals)
            seen.setdefault(code, _candidate(code, 0, cell, start, end))
    total = sum(counts.values())
    for code, item in seen.items():
        score = 0.9 * counts[code] / total
        found.append(Candidate(code, score, item.page, item.box, item.text))
    return best(found) or _implied(sheet)


def _implied(sheet: Sheet) -> Value | None:
    """The currency of a country whose taxes the page names, where no amount says one."""
    for row in sheet.rows:
        match = re.search(r"\b(?:NPWP|PPN|DPP|PPh)\b", row.text)
        if match:
            return Value("IDR", 0.7, row.page, row.cells[0].box, match[0])
    return None


_CODE: Final = re.compile(
    r"(?<![A-Za-z])(?:US\$|HK\$|[ACSR]\$|[$€£¥₹]|Rp(?=[\s.\d)]|$)|Rs(?=[\s.\d])|[Ee]uros?|EURO"
    r"|[Rr]upiah|RUPIAH|" + "|".join(sorted(numbers.CODES)) + r")(?![A-Za-z])"
)


def _codes(text: str) -> list[tuple[str, int, int]]:
    return [
        (numbers.currency(match[0]), match.start(), match.end()) for match in _CODE.finditer(text)
    ]
