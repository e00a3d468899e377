"""What is not an amount: the security, its codes and its exchange."""

import re
from collections.abc import Sequence
from typing import Final

from docmill.reading.labels import fold
from docmill.reading.pages import Value
from docmill.trades.reader import lexicon
from docmill.trades.reader.rows import NoteRow, make_value

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
