"""The currency of an invoice: by label, by the signs at its amounts, by the seller's country."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.candidates import HeaderCandidate, choose_best, make_candidate
from docmill.reading import numbers
from docmill.reading.labels import Phrase, TextCell, TextSheet, find_spots, match_labels
from docmill.reading.lexicon import lexicon as load_words
from docmill.reading.pages import Box, Value

LABELLED: Final = 1.2
BY_COUNTRY: Final = 0.8  # how sure a sign is that several countries share
UNKNOWN_COUNTRY: Final = 0.75
IMPLIED: Final = 0.7  # how sure a currency is that nothing on the page names
LEVEL: Final = 3.0  # points: what lies nearer stands on the row of a total
NEAR: Final = 2  # characters between a code and its number

MONEY_OF: Final = {
    **dict.fromkeys(("AT", "BE", "DE", "ES", "FI", "FR", "IE", "IT", "LU", "NL", "PT"), "EUR"),
    "AR": "ARS", "AU": "AUD", "BR": "BRL", "CA": "CAD", "CH": "CHF", "CL": "CLP", "CN": "CNY",
    "CO": "COP", "CZ": "CZK", "DK": "DKK", "GB": "GBP", "HK": "HKD", "HU": "HUF", "ID": "IDR",
    "IN": "INR", "JP": "JPY", "MX": "MXN", "MY": "MYR", "NO": "NOK", "NZ": "NZD", "PE": "PEN",
    "PL": "PLN", "SE": "SEK", "SG": "SGD", "TW": "TWD", "US": "USD", "UY": "UYU",
}  # fmt: skip
_SHARED: Final = {  # a sign of several currencies, and the countries that use it
    "$": ("US", "CA", "AU", "NZ", "SG", "HK", "TW", "MX", "CL", "AR", "CO", "UY"),
    "KR": ("SE", "DK", "NO"),
    "¥": ("JP", "CN"),
}
_USUAL: Final = {"$": "USD", "¥": "JPY", "KR": ""}
_SIGNS: Final = {
    "US$": "USD", "USD$": "USD", "U$S": "USD", "HK$": "HKD", "A$": "AUD", "AU$": "AUD",
    "C$": "CAD", "CA$": "CAD", "CAD$": "CAD", "S$": "SGD", "SG$": "SGD", "NZ$": "NZD",
    "NT$": "TWD", "MX$": "MXN", "MEX$": "MXN", "AR$": "ARS", "CLP$": "CLP", "COL$": "COP",
    "R$": "BRL", "€": "EUR", "EURO": "EUR", "EUROS": "EUR", "£": "GBP", "₹": "INR", "RS": "INR",
    "RP": "IDR", "RUPIAH": "IDR", "RM": "MYR", "ZŁ": "PLN", "ZŁOTYCH": "PLN", "KČ": "CZK",
    "FT": "HUF", "FORINT": "HUF", "CN¥": "CNY", "RMB": "CNY", "元": "CNY", "FCFA": "XOF",
    "F CFA": "XOF", "CFA": "XOF", "FR.": "CHF", "SFR.": "CHF", "₽": "RUB", "₺": "TRY", "₱": "PHP",
    "₦": "NGN", "₩": "KRW", "₪": "ILS", "₴": "UAH", "฿": "THB", "₫": "VND", "S/": "PEN",
    "LEI": "RON", "R": "ZAR",
}  # fmt: skip
_LATER: Final = ("XOF", "XAF", "UYU", "MAD", "TND", "RUB", "QAR", "KWD", "RSD")
_CODES: Final = "|".join(sorted({*numbers.CODES, *_LATER}))
_FIGURE: Final = r"(?=\s?[-–]?\s?\d)"
_BEHIND_FIGURE: Final = r"(?<=\d)\s?|(?<=\d,-)\s?|(?<=,--)\s?"
_SIGN: Final = re.compile(
    r"(?<![^\W\d_])(?P<sign>(?:USD|US|HK|AU|A|CAD|CA|C|SG|S|NZ|NT|MX|MEX|Mex|AR|CLP|COL|R|U)\$S?"
    r"|CN¥|[$€£¥₹₽₺₱₦₩₪₴฿₫元]|[Zz][łŁ](?:otych)?|K[čČ]|F ?CFA|CFA|[Ee]uros?|EUROS?|[Rr]upiah|RUPIAH"
    r"|[Ff]orint|RMB|Rp(?=[\s.\d)]|$)|RP(?=[\s.]?\d)|Rs(?=[\s.\d])|RM(?=\s?\d)|S/(?=\.?\s?\d)"
    r"|S?Fr\.(?=\s?\d)|R(?=\s?-?\d[\d ,.]*[.,]\d\d(?![\d%])))(?![^\W\d_])"
    rf"|(?<![^\W\d_])(?P<before>[Kk]r|KR|Ft|[Ll]ei)\.?:?{_FIGURE}"
    rf"|(?:{_BEHIND_FIGURE})(?P<behind>[Kk]r|KR|Ft|FT|[Ll]ei|Fr\.)(?![^\W\d_])"
    r"|(?<=\()(?P<inside>kr|Kr|Ft|DKK|SEK|NOK)(?=\.?\))"
)
_SIGN_START: Final = re.compile(  # what every sign has, each way with a letter of its own first
    r"\$|€|£|¥|₹|₽|₺|₱|₦|₩|₪|₴|฿|₫|元|ł|Ł|č|Č|CFA|Eur|eur|EUR|rup|Rup|RUP|for|For|RMB"
    r"|Rp|RP|Rs|RM|R(?=[\s\d-])|S/|Fr\.|kr|Kr|KR|Ft|FT|lei|Lei|DKK|SEK|NOK"
)
_CODE: Final = re.compile(rf"(?<![^\W\d_])(?<!/)(?:{_CODES})(?![^\W\d_])")
_CAPITALS: Final = re.compile("[A-Z]{3}")
_IN: Final = re.compile(r"(?:[(\[/]|\b(?:in|en|dalam|i|v|w|em|ve|total|amount))\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MoneyMark:
    """A currency's sign or code in a text; `worth` is how much it looks like one."""

    code: str
    start: int
    end: int
    worth: float = 1.0


def find_currency(sheet: TextSheet, phrases: list[Phrase], totals: Sequence[Box]) -> Value | None:
    """The currency a label names, else the one that stands with the amounts, or the totals."""
    marked = [(cell, mark) for _, _, cell in sheet.cells for mark in find_marks(cell.text)]
    counts: defaultdict[str, float] = defaultdict(float)
    first: dict[str, HeaderCandidate] = {}
    for cell, mark in marked:
        total = any(abs(cell.box.middle - box.middle) < LEVEL for box in totals)
        counts[mark.code] += (1 + 2 * total) * mark.worth
        made = make_candidate(mark.code, 0, cell=cell, start=mark.start, end=mark.end)
        first.setdefault(mark.code, made)
    whole = sum(counts.values())
    found = [
        HeaderCandidate(code, 0.9 * counts[code] / whole, item.page, item.box, item.text)
        for code, item in first.items()
    ]
    chosen = choose_best([*_labelled_currencies(sheet, phrases), *found])
    if chosen is None:
        return _implied_currency(sheet)
    return _settle_shared(sheet, chosen, counts)


def _labelled_currencies(sheet: TextSheet, phrases: list[Phrase]) -> Iterator[HeaderCandidate]:
    for phrase in match_labels(phrases, lexicon.CURRENCY):
        for spot in find_spots(sheet, phrase):
            mark = next(iter(find_marks(spot.text)), None)
            if mark:
                start, end = spot.start + mark.start, spot.start + mark.end
                yield make_candidate(mark.code, LABELLED, cell=spot.cell, start=start, end=end)
                break


def find_marks(text: str) -> list[MoneyMark]:
    """The signs and codes of currencies in a text; a shared sign stands for itself."""
    found = [
        MoneyMark(_code_of(match[match.lastgroup or 0]), *match.span(match.lastgroup or 0))
        for match in (_SIGN.finditer(text) if _SIGN_START.search(text) else ())
    ]
    taken = {at for mark in found for at in range(mark.start, mark.end)}
    for match in _CODE.finditer(text) if _CAPITALS.search(text) else ():
        if match.start() not in taken:
            worth = _code_worth(text, match.start(), match.end())
            found.append(MoneyMark(match[0], match.start(), match.end(), worth))
    return sorted(found, key=lambda mark: mark.start) if len(found) > 1 else found


def _code_of(sign: str) -> str:
    upper = sign.upper()
    return _SIGNS.get(upper) or _SIGNS.get(upper.rstrip(".")) or upper.rstrip(".")


def _code_worth(text: str, start: int, end: int) -> float:
    """A code counts where a number, a bracket or the edge of a short text is beside it."""
    before, behind = text[:start], text[end:]
    numbered = re.search(rf"\d[,.–-]*\s{{0,{NEAR}}}$", before) or re.match(
        rf"[.:]?\s{{0,{NEAR}}}[-–]?\d", behind
    )
    alone = not before.strip(" :.") and not behind.strip(" :.")
    return 1.0 if numbered or alone or _IN.search(before) else 0.1


def _settle_shared(sheet: TextSheet, chosen: Value, counts: Mapping[str, float]) -> Value | None:
    """A sign that several countries use, as the currency that a code or the country says."""
    countries = _SHARED.get(chosen.value)
    if countries is None:
        return chosen
    ours = {MONEY_OF[country] for country in countries}
    printed = sorted((code for code in counts if code in ours), key=lambda code: -counts[code])
    country = find_country(sheet, countries)
    code = printed[0] if printed else MONEY_OF[country] if country else _USUAL[chosen.value]
    if not code:
        return None
    sure = chosen.confidence if printed else BY_COUNTRY if country else UNKNOWN_COUNTRY
    if country == "US" and not printed:
        sure = chosen.confidence
    return Value(code, min(chosen.confidence, sure), chosen.page, chosen.box, chosen.text)


def _implied_currency(sheet: TextSheet) -> Value | None:
    """The currency of the country that the page names, where no amount says one."""
    country = find_country(sheet, tuple(MONEY_OF))
    place = _first_mention(sheet, country) if country else None
    if not place:
        return None
    return Value(MONEY_OF[country], IMPLIED, place.page, place.box, place.text)


@cache
def _country_patterns() -> dict[str, re.Pattern[str]]:
    words = load_words()
    return {
        name: re.compile(rf"(?<![^\W\d_]){words.pattern('country', name)}(?![^\W\d_])")
        for name in words.names("country")
    }


def find_country(sheet: TextSheet, among: Sequence[str]) -> str:
    """The country that most words of the page speak of; none where two currencies are level."""
    votes: Counter[str] = Counter()
    text = "\n".join(" ".join(row.text.split()) for row in sheet.rows)
    for name in among:
        votes[name] = len({match[0].lower() for match in _country_patterns()[name].finditer(text)})
    ranked = votes.most_common()
    best, count = ranked[0]
    level = any(n == count and MONEY_OF[other] != MONEY_OF[best] for other, n in ranked[1:])
    return best if count and not level else ""


def _first_mention(sheet: TextSheet, country: str) -> TextCell | None:
    pattern = _country_patterns()[country]
    return next((cell for _, _, cell in sheet.cells if pattern.search(cell.text)), None)
