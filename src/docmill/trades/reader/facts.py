"""What is not an amount: the security and its codes, the days, the exchange, the counterparty."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from docmill.reading.labels import fold
from docmill.reading.pages import Value
from docmill.trades.reader import lexicon
from docmill.trades.reader.rows import Day, NoteRow, make_value

CHECKED: Final = 0.99
UNCHECKED: Final = 0.55
_MIC: Final = re.compile(
    r"\((X[A-Z]{3})\)|^(X(?!XXX)[A-Z]{3})\b"
    r"|\b(XETRA|Xetra|Tradegate|Quotrix|gettex|NYSE|NASDAQ|LSE|Euronext \w+)\b"
)

_AMOUNT: Final = re.compile(r"^\d|\d[.,]\d")  # `Exchange rate 1.08` names no place


def find_isin(rows: Sequence[NoteRow], near: int) -> Value | None:
    """The ISIN nearest to a row; one whose check figure fails only where no other is there."""
    found: list[tuple[float, NoteRow, int, int, str]] = []
    for row in rows:
        found += [
            (_isin_weight(match[1]), row, match.start(1), match.end(1), match[1])
            for match in ISIN.finditer(row.text)
        ]
        for match in GROUPED_ISIN.finditer(row.text):
            code = "".join(match.groups())
            if is_isin(code) and match[0] != code:
                found.append((0.5, row, match.start(), match.end(), code))
        for match in TORN_ISIN.finditer(row.text):
            code = match[1].replace(" ", "")
            if " " in match[1].strip() and is_isin(code):
                found.append((0.8, row, match.start(1), match.end(1), code))
    known = [item for item in found if item[0]]
    if not known:
        return None
    _, row, start, end, code = max(known, key=lambda item: (item[0], -abs(item[1].index - near)))
    sure = CHECKED if is_isin(code) else UNCHECKED
    return make_value(row, start, end, code, sure)


def _isin_weight(code: str) -> float:
    if is_isin(code):
        return 1.0
    return 0.3 if looks_like_isin(code) else 0.0


def find_cusip(rows: Sequence[NoteRow], known: Value | None, *, told: bool) -> Value | None:
    """A CUSIP that the document calls one, or the one inside an American ISIN."""
    for row in rows if told else ():
        for match in CUSIP.finditer(row.text):
            if is_cusip(match[1]):
                return make_value(row, match.start(1), match.end(1), match[1], 0.97)
    inner = cusip_in_isin(known.value) if known else None
    if not (known and inner):
        return None
    return Value(inner, known.confidence, known.page, known.box, known.text)


def find_ticker(rows: Sequence[NoteRow]) -> Value | None:
    for row in rows:
        match = lexicon.TICKER.search(row.text)
        if match and match[1].isupper():
            return make_value(row, match.start(1), match.end(1), match[1], 0.85)
    return None


def _is_heading(text: str) -> bool:
    return bool(lexicon.COLUMN.search(text))


def find_asset_class(rows: Sequence[NoteRow], hint: str) -> Value | None:
    """What kind of security it is, by the words of its name first."""
    folded = fold(hint)
    for kind, pattern in lexicon.ASSETS:
        if pattern.search(folded):
            return Value(kind, 0.8, text=hint)
    for row in rows:
        for kind, pattern in lexicon.ASSETS[:-1]:
            match = pattern.search(row.plain)
            if match and row.word_count < 12:
                return Value(kind, 0.55, row.page, None, row.text[:60])
    return None


def find_exchange(rows: Sequence[NoteRow]) -> Value | None:
    """The trading place: behind its label, or a name everybody knows."""
    for row in rows:
        match = lexicon.EXCHANGE.match(row.plain)
        words = row.plain[match.end() :].split() if match else []
        if match and 0 < len(words) <= 8:
            skip = len(row.plain[: match.end()].split())
            shown = re.sub(r"\s*\(.*?\)|\s{2,}.*", "", " ".join(row.text.split()[skip:])).strip(
                " :"
            )
            if shown and not _AMOUNT.search(shown) and not _is_heading(shown):
                return make_value(row, 0, len(row.text), shown[:60], 0.75)
    for row in rows:
        match = _MIC.search(row.text)
        if match:
            found = match[match.lastindex or 0]
            return make_value(row, match.start(), match.end(), found, 0.7)
    return None


def find_counterparty(rows: Sequence[NoteRow]) -> Value | None:
    """Who sent the note: the first row that reads like a bank or broker, letterhead or foot."""
    for row in [*rows[:25], *reversed(rows[-12:])]:
        match = lexicon.BROKER.search(row.text)
        if match and row.word_count <= 9 and not row.days:
            shown = re.split(r"[·•|*]|\s-\s|, \d|\d{5}|Postfach", row.text)[0].strip(" ,·•-")
            if 3 < len(shown) <= 60 and lexicon.BROKER.search(shown):
                return make_value(row, 0, len(shown), shown, 0.6)
    return None


_CODES: Final = """
    AD AE AG AI AL AM AN AO AR AT AU AZ BA BB BD BE BG BH BM BO BR BS BW BY BZ CA CH CI CL CM
    CN CO CR CS CU CW CY CZ DE DK DO DZ EC EE EG ES ET EU FI FJ FO FR GA GB GE GG GH GI GR GT
    HK HN HR HU ID IE IL IM IN IQ IR IS IT JE JM JO JP KE KG KH KN KR KW KY KZ LA LB LC LI LK
    LR LT LU LV MA MC MD ME MG MH MK MM MN MO MT MU MV MW MX MY MZ NA NE NG NI NL NO NP NZ OM
    PA PE PG PH PK PL PR PS PT PY QA RO RS RU RW SA SB SC SE SG SI SK SL SM SN SR SV SZ TC TH
    TN TR TT TW TZ UA UG US UY UZ VC VE VG VI VN XC XD XF XS ZA ZM ZW
"""
_COUNTRIES: Final = frozenset(_CODES.split())
ISIN: Final = re.compile(r"(?<![A-Za-z0-9])([A-Z]{2}[A-Z0-9]{9}\d)(?![A-Za-z0-9])")
GROUPED_ISIN: Final = re.compile(
    r"(?<![A-Za-z0-9])([A-Z]{2}) ?([A-Z0-9]{3}) ?([A-Z0-9]{3}) ?([A-Z0-9]{3}) ?(\d)(?![A-Za-z0-9])"
)
TORN_ISIN: Final = re.compile(r"I ?S ?I ?N[\s:]*((?:[A-Z0-9] ?){11}\d)")
CUSIP: Final = re.compile(r"(?<![A-Za-z0-9])([0-9A-Z]{3}[0-9A-Z*@#]{5}\d)(?![A-Za-z0-9])")


def is_isin(code: str) -> bool:
    """Whether the country is one and the last figure checks the others (ISO 6166)."""
    if not ISIN.fullmatch(code) or code[:2] not in _COUNTRIES:
        return False
    digits = "".join(str(int(char, 36)) for char in code)
    doubled = [int(d) * (1 + (at % 2)) for at, d in enumerate(reversed(digits))]
    return sum(value // 10 + value % 10 for value in doubled) % 10 == 0


def looks_like_isin(code: str) -> bool:
    """Whether only the check figure may be wrong: a country and nine characters, some figures."""
    return (
        bool(ISIN.fullmatch(code))
        and code[:2] in _COUNTRIES
        and sum(char.isdigit() for char in code) >= 3
    )


def is_cusip(code: str) -> bool:
    """Whether the last figure checks the first eight characters."""
    if not CUSIP.fullmatch(code):
        return False
    total = 0
    for at, char in enumerate(code[:8]):
        value = 36 + "*@#".index(char) if char in "*@#" else int(char, 36)
        value *= 1 + (at % 2)
        total += value // 10 + value % 10
    return (10 - total % 10) % 10 == int(code[8])


def cusip_in_isin(isin: str) -> str | None:
    """The CUSIP inside an American or Canadian ISIN."""
    inner = isin[2:11]
    return inner if isin[:2] in {"US", "CA"} and is_cusip(inner) else None


_CLOCK: Final = re.compile(
    r"[\s,T/-]*(?:um |at |às |a las |alle |om |à |o )?"
    r"(?:\d{1,2}:\d{2}(?!\d)|\d{2}\.\d{2}\.\d{2}(?!\d))"
)
TIMED: Final = 2.5  # a day with the time of day: when a deal was done, not when it is paid
IN_ANCHOR: Final = 9.0
UNNAMED: Final = 2.0
REFUSED: Final = -9.0
ABOVE: Final = 5
PROSE: Final = 9
WEAK: Final = 3.0
DISTANCE: Final = 0.04
SURE: Final = ((9.5, 0.96), (8.0, 0.9), (4.5, 0.8), (2.5, 0.65), (0.0, 0.5))
_AT_END: Final = 28
_LAST: Final = 40  # letters before a date that may name it


@dataclass(frozen=True, slots=True)
class DateCandidate:
    """A date, how well it does as a trade date, and whether it is named as the settlement's."""

    row: NoteRow
    day: Day
    score: float
    settles: bool


def find_day_candidates(rows: Sequence[NoteRow], anchor: NoteRow | None) -> list[DateCandidate]:
    """All dates of these rows."""
    found: list[DateCandidate] = []
    for at, row in enumerate(rows):
        for index, day in enumerate(row.days):
            label = _find_day_label(rows, at, index)
            settles = bool(lexicon.SETTLEMENT_DAY.search(label)) and _label_weight(label) < 10
            found.append(
                DateCandidate(row, day, _score_day(label, row, day, anchor, settles), settles)
            )
    return found


def find_trade_date(candidates: Sequence[DateCandidate], near: int) -> Value | None:
    """The date that says best when the trade was done; among equals the nearest to a row."""
    able = [one for one in candidates if one.score > REFUSED / 2]
    if not able:
        return None

    def rank(one: DateCandidate) -> float:
        return one.score - DISTANCE * min(abs(one.row.index - near), 60)

    best = max(able, key=rank)
    sure = next((value for least, value in SURE if best.score >= least), 0.3)
    return _date_value(best, sure)


def find_settlement_date(candidates: Sequence[DateCandidate], near: int) -> Value | None:
    named = [one for one in candidates if one.settles]
    best = min(named, key=lambda one: abs(one.row.index - near), default=None)
    return _date_value(best, 0.9) if best else None


def _date_value(one: DateCandidate, sure: float) -> Value:
    return make_value(one.row, one.day.start, one.day.end, one.day.day.isoformat(), sure)


def _score_day(label: str, row: NoteRow, day: Day, anchor: NoteRow | None, settles: bool) -> float:
    weight = _label_weight(label)
    if lexicon.NOT_TRADE_DAY.search(label):
        return REFUSED
    if settles and weight < 10:
        return REFUSED / 3
    inside = anchor is not None and row.index == anchor.index
    if weight >= 10 and inside:
        return weight + 0.5
    if weight and not (inside and weight == WEAK):
        return weight if row.word_count <= PROSE or weight > WEAK else UNNAMED - 1
    if inside:
        return IN_ANCHOR + (0.5 if day.start < 3 else 0.0)
    timed = bool(_CLOCK.match(row.text, day.end))
    return UNNAMED + (TIMED if timed else 1.0 if lexicon.ON.search(label) else 0.0)


def _label_weight(label: str) -> float:
    """What the words say: the one that ends nearest to the date."""
    found = [
        (match.end(), weight)
        for weight, pattern in lexicon.TRADE_DAY
        for match in pattern.finditer(label)
    ]
    settles = [match.end() for match in lexicon.SETTLEMENT_DAY.finditer(label)]
    if not found:
        return 0.0
    end, weight = max(found)
    return 0.0 if settles and max(settles) > end else float(weight)


def _find_day_label(rows: Sequence[NoteRow], at: int, index: int) -> str:
    """The words before a date in its row; else those over it."""
    row, day = rows[at], rows[at].days[index]
    start = row.days[index - 1].end if index else 0
    before = row.text[start : day.start][-_LAST:]
    label = fold(re.sub(r"\d[\d.,:'/-]*", " ", before))
    if (
        _label_weight(label)
        or lexicon.SETTLEMENT_DAY.search(label)
        or lexicon.NOT_TRADE_DAY.search(label)
    ):
        return label
    head = next(_names_above(rows, at, index), "")
    return head or label


def _names_above(rows: Sequence[NoteRow], at: int, index: int) -> Iterator[str]:
    """The words of a table's head that name the dates below, counted or by their place."""
    row = rows[at]
    for above in range(at - 1, max(at - 1 - ABOVE, -1), -1):
        if rows[above].days or rows[above].numbers:
            continue
        names = _find_date_names(rows[above].plain)
        if not names:
            continue
        if len(names) == len(row.days):
            yield names[index]
        elif not _are_mixed(names):
            yield names[min(index, len(names) - 1)]


def _are_mixed(names: Sequence[str]) -> bool:
    """Whether some name a settlement and some a trade, so that counting tells nothing."""
    settles = [bool(lexicon.SETTLEMENT_DAY.search(name)) for name in names]
    return any(settles) and not all(settles)


def _find_date_names(text: str) -> list[str]:
    """The words for dates in a head, from left to right."""
    patterns = [pattern for _, pattern in lexicon.TRADE_DAY] + [lexicon.SETTLEMENT_DAY]
    spans = sorted({match.span() for pattern in patterns for match in pattern.finditer(text)})
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return [text[start:end] for start, end in kept]
