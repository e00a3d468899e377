"""Number, dates and currency of an invoice: candidates by label and place, the best one taken."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from docmill.invoices.reader import lexicon
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
)
from docmill.reading.pages import Box, Value

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
class HeaderCandidate:
    """A value somebody may mean, how well it is supported, and where it stands."""

    value: str
    score: float
    page: int
    box: Box
    text: str


def choose_best(candidates: Iterable[HeaderCandidate], least: float = 0.2) -> Value | None:
    """The best supported value; sure when no other one comes near."""
    support: dict[str, list[HeaderCandidate]] = defaultdict(list)
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


def read_header(sheet: TextSheet, phrases: list[Phrase], totals: Sequence[Box]) -> Values:
    """The fields of the whole invoice; `totals` is where its sums stand."""
    number = find_number(sheet, phrases)
    issued = find_issue_date(sheet, phrases, number)
    return keep_found(
        {
            "invoice_number": number,
            "issue_date": issued,
            "due_date": find_due_date(sheet, phrases, issued),
            "currency": find_currency(sheet, phrases, totals),
        }
    )


def find_number(sheet: TextSheet, phrases: list[Phrase]) -> Value | None:
    """The invoice's own number, among order, delivery and customer numbers."""
    found: list[HeaderCandidate] = []
    kinds = ((lexicon.NUMBER, 1.0), (lexicon.NUMBER_TITLE, 0.7), (lexicon.NUMBER_WEAK, 0.4))
    for pattern, weight in kinds:
        for phrase in match_labels(phrases, pattern):
            found += _number_candidates(sheet, phrase, weight)
    for phrase in match_labels(phrases, lexicon.NUMBER_SERIAL):  # a tax invoice has no other
        found += _number_candidates(sheet, phrase, SERIAL)
    return choose_best(found)


def _number_candidates(
    sheet: TextSheet, phrase: Phrase, weight: float
) -> Iterator[HeaderCandidate]:
    before = "" if phrase.first else labels.squeeze(phrase.cell.text[: phrase.start])
    strong = weight == 1.0
    if weight > SERIAL and lexicon.NOT_NUMBER.fullmatch(before + phrase.key):
        return
    if before and SERIAL < weight < 1:
        title = lexicon.NUMBER_TITLE.fullmatch(labels.squeeze(phrase.cell.text.split()[0]))
        if not title or weight > 0.5 or len(before) > 40:
            return
        weight = 0.9
    for spot in find_spots(sheet, phrase):
        if not strong and spot.where >= Where.FAR_BELOW:
            return
        text = spot.text
        skip = _NO.match(text)
        start = spot.start + (skip.end() if skip else 0)
        made = _leading_id(spot.cell.text[start:])
        if made:
            score = weight - _PLACES[spot.where] * (1 if strong else 1.5) - _oddness(made)
            score -= 0.05 * (phrase.cell.page - 1)
            yield _make_candidate(made, score, spot.cell, start, start + len(made))
            return
        if spot.where is Where.BEHIND and (strong is False or ":" in text):
            return


def _leading_id(text: str) -> str:
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
        dates.find_dates(text[: len(made) + 16])
        and dates.find_dates(text[: len(made) + 16])[0].start == 0
    ):
        return ""
    figures = numbers.find_numbers(text)
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


def _make_candidate(
    value: str, score: float, cell: TextCell, start: int, end: int
) -> HeaderCandidate:
    return HeaderCandidate(value, score, cell.page, cell.place(start, end), cell.text[start:end])


def find_issue_date(sheet: TextSheet, phrases: list[Phrase], number: Value | None) -> Value | None:
    """The day of the invoice: by its label, beside its number, or the first date of the page."""
    found: list[HeaderCandidate] = []
    kinds = ((lexicon.DATE, 1.0), (lexicon.DATE_PLAIN, 0.8), (lexicon.DATE_LOOSE, 0.6))
    for pattern, weight in kinds:
        for phrase in match_labels(phrases, pattern):
            before = "" if phrase.first else labels.squeeze(phrase.cell.text[: phrase.start])
            if weight < 1 and not _is_plain_date(before + (phrase.key if weight < 0.8 else "")):
                continue
            found += _date_candidates(sheet, phrase, weight)
    for row in sheet.rows:
        found += _unlabelled_dates(sheet, row, number)
    return choose_best(found, 0.1)


def _is_plain_date(before: str) -> bool:
    """Whether what stands before `date` leaves it the invoice's: nothing, a town or a title."""
    return not lexicon.NOT_DATE.fullmatch(before) and not before.endswith(("nr", "no"))


def _date_candidates(sheet: TextSheet, phrase: Phrase, weight: float) -> Iterator[HeaderCandidate]:
    for spot in find_spots(sheet, phrase):
        found = dates.find_dates(spot.text, month_first=sheet.month_first, packed=weight == 1.0)
        if found and found[0].start <= 12 and not _is_other_date(spot, found[0].start):
            at = spot.start + found[0].start
            score = weight - _PLACES[spot.where] - 0.05 * (spot.cell.page - 1)
            end = spot.start + found[0].end
            yield _make_candidate(found[0].day.isoformat(), score, spot.cell, at, end)
            return
        if spot.where is Where.BEHIND and spot.text.strip(" :()"):
            return


def _is_other_date(spot: ValueSpot, upto: int) -> bool:
    """Whether words between label and date make it another date (`Date de facture associée`)."""
    between = spot.text[:upto]
    return bool(lexicon.NOT_DATE.fullmatch(labels.squeeze(between))) or (
        spot.where is Where.BEHIND and between.rstrip().endswith(":")
    )


def _unlabelled_dates(
    sheet: TextSheet, row: TextRow, number: Value | None
) -> Iterator[HeaderCandidate]:
    """Dates without a label of their own; better high up, and better still beside the number."""
    for column, cell in enumerate(row.cells):
        for found in dates.find_dates(cell.text, month_first=sheet.month_first):
            own = cell.text[: found.start].strip()
            left = row.cells[column - 1].text if column and not own else ""
            before = labels.squeeze(own or left)
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
            yield _make_candidate(found.day.isoformat(), score, cell, found.start, found.end)


def find_due_date(sheet: TextSheet, phrases: list[Phrase], issued: Value | None) -> Value | None:
    """The day by which to pay, where the page says one."""
    found: list[HeaderCandidate] = []
    for phrase in match_labels(phrases, lexicon.DUE):
        found += _date_candidates(sheet, phrase, 1.0)
    for row in sheet.rows:
        found += _due_in_prose(sheet, row)
    day = date.fromisoformat(issued.value) if issued else None
    return choose_best((item for item in found if not day or item.value >= day.isoformat()), 0.3)


def _due_in_prose(sheet: TextSheet, row: TextRow) -> Iterator[HeaderCandidate]:
    """`Zahlbar ... bis 04.04.2018`: the first date behind words that speak of paying by a day."""
    for column, cell in enumerate(row.cells):
        word = lexicon.DUE_PROSE.search(cell.text)
        if not word:
            continue
        text = cell.text[word.start() :]
        found = dates.find_dates(text, month_first=sheet.month_first)
        if lexicon.NOT_DUE.search(text[: found[0].start] if found else text):
            continue
        if found and lexicon.BY.search(text[: found[0].start]):
            start, end = word.start() + found[0].start, word.start() + found[0].end
            yield _make_candidate(found[0].day.isoformat(), 0.8, cell, start, end)
        elif not found and len(cell.text) < SHORT and lexicon.BY.search(cell.text):
            yield from _date_beside(sheet, row, column)


def _date_beside(sheet: TextSheet, row: TextRow, column: int) -> Iterator[HeaderCandidate]:
    """The date next to a short text, or right under it."""
    box = row.cells[column].box
    near = [*row.cells[column + 1 : column + 2], *(cell for _, cell in find_below(sheet, row, box))]
    for cell in near[:2]:
        found = dates.find_dates(cell.text, month_first=sheet.month_first)
        if found and found[0].start < 4:
            day = found[0]
            yield _make_candidate(day.day.isoformat(), 0.7, cell, day.start, day.end)
            return


def find_currency(sheet: TextSheet, phrases: list[Phrase], totals: Sequence[Box]) -> Value | None:
    """The currency a label names, else the one that stands with the amounts, or the totals."""
    found: list[HeaderCandidate] = []
    for phrase in match_labels(phrases, lexicon.CURRENCY):
        for spot in find_spots(sheet, phrase):
            code = next(iter(_currency_codes(spot.text)), None)
            if code:
                found.append(
                    _make_candidate(
                        code[0], 1.2, spot.cell, spot.start + code[1], spot.start + code[2]
                    )
                )
                break
    counts: Counter[str] = Counter()
    seen: dict[str, HeaderCandidate] = {}
    for _, _, cell in sheet.cells:
        for code, start, end in _currency_codes(cell.text):
            counts[code] += 1 + 2 * any(abs(cell.box.middle - box.middle) < 3 for box in totals)
            seen.setdefault(code, _make_candidate(code, 0, cell, start, end))
    total = sum(counts.values())
    for code, item in seen.items():
        score = 0.9 * counts[code] / total
        found.append(HeaderCandidate(code, score, item.page, item.box, item.text))
    return choose_best(found) or _implied_currency(sheet)


def _implied_currency(sheet: TextSheet) -> Value | None:
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


def _currency_codes(text: str) -> list[tuple[str, int, int]]:
    return [
        (numbers.currency_code(match[0]), match.start(), match.end())
        for match in _CODE.finditer(text)
    ]
