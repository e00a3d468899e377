"""The countries of seller and buyer, by what the page says of each, and how sure that is.

What stands under a party's name speaks for it alone: a country's name, a postcode of its own form,
a tax number, a telephone. The rest of the page speaks for the seller, whose paper it is. What is
left is a guess by words and currency, and no guess is sure enough to pass unseen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from docmill.invoices.formats import values as tables
from docmill.invoices.reader import lexicon
from docmill.invoices.reader.currency import MONEY_OF
from docmill.invoices.reader.model import Values
from docmill.invoices.reader.names import find_lines_below
from docmill.reading import labels
from docmill.reading.labels import TextCell, TextRow, TextSheet
from docmill.reading.lexicon import lexicon as load_words
from docmill.reading.pages import Value

NAMED: Final = 0.95
CODED: Final = 0.92  # `D-12345`, `DE 80333`, `75018 PARIS, FR`
POSTCODE: Final = 0.85  # of a form that one country has
NUMBERED: Final = 0.88  # by a tax number
DIALLED: Final = 0.82
BANKED: Final = 0.82
CONTRADICTED: Final = 0.6
SPOKEN: Final = 0.7  # words of a country somewhere on the page: below what passes unseen
SHARED: Final = 0.65  # the buyer is where the seller is, by custom
FORMED: Final = 0.6  # the form of the company, where the seller's country has no such form
PAID: Final = 0.6  # the currency alone
WRITTEN: Final = 0.5  # the language alone
MOST_LINES: Final = 8
GAP: Final = 2.6  # of a line's height
SHORT: Final = 3  # letters: codes among words are too often something else

_PARTS: Final = re.compile(r"[,;()|·•●\n]|\s[-–—]\s|\s{2,}")
_FIGURES: Final = re.compile(r"^[\s\d-]+|[\s\d-]+$")
_CAR_CODES: Final = {
    "D": "DE", "A": "AT", "F": "FR", "I": "IT", "B": "BE", "L": "LU", "E": "ES", "P": "PT",
    "S": "SE", "N": "NO", "FIN": "FI", "FL": "LI", "H": "HU",
}  # fmt: skip
_PREFIXED: Final = re.compile(r"(?<![\w-])([A-Z]{1,3})\s?-\s?\d{4,6}(?=\s+[^\W\d_]|$|,)")
_LED: Final = re.compile(r"([A-Z]{2})\s+\d{4,5}\s+[^\W\d_]")
_STATES: Final = (
    "AL|AK|AZ|AR|CA|CO|CT|DC|DE|FL|GA|HI|IA|ID|IL|IN|KS|KY|LA|MA|MD|ME|MI|MN|MO|MS|MT|NC|ND|NE|NH"
    "|NJ|NM|NV|NY|OH|OK|OR|PA|RI|SC|SD|TN|TX|UT|VA|VT|WA|WI|WV|WY"
)
_STATE_NAMES: Final = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii"
    "|Idaho|Illinois|Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan"
    "|Minnesota|Mississippi|Missouri|Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico"
    "|New York|North Carolina|North Dakota|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island"
    "|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|West Virginia"
    "|Wisconsin|Wyoming"
)
_POSTCODES: Final = {
    "US": re.compile(
        rf"(?<=[\w,.]\s)(?:{_STATES}|{_STATE_NAMES}),?\s+\d{{5}}(?:-\d{{4}})?(?![\d-])"
    ),
    "CA": re.compile(r"\b[ABCEGHJ-NPRSTVXY]\d[A-Z]\s?\d[A-Z]\d\b"),
    "GB": re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]?\s\d[ABD-HJLNP-UW-Z]{2}\b"),
    "NL": re.compile(r"\b[1-9]\d{3}\s?(?!SA|SD|SS)[A-Z]{2}\b(?=\s+[A-Z]|$|,)"),
    "BR": re.compile(
        r"(?<![\d.-])\d{5}-\d{3}(?![\d-])|\b[A-Z][\w ]+\s?[-/]\s?(?:SP|RJ|MG|RS|PR)\b"
    ),
    "AU": re.compile(r"\b(?:NSW|VIC|QLD|ACT|TAS)\s+\d{4}\b"),
    "PT": re.compile(r"(?<![\d.-])[1-9]\d{3}-\d{3}(?![\d-])"),
    "PL": re.compile(r"(?<![\d.-])\d{2}-\d{3}(?=\s+[A-ZŁŚŻŹĆ])"),
}  # fmt: skip
# How lines of towns begin; several countries have the same form.
_HOME_POSTCODES: Final = {
    **dict.fromkeys(("DE", "FR", "ES", "IT", "FI"), re.compile(r"\d{5}\s+[A-ZÀ-Þ][^\W\d_]{2}")),
    **dict.fromkeys(
        ("AT", "BE", "CH", "DK", "HU", "LU", "NO"), re.compile(r"\d{4}\s+[A-ZÀ-Þ][^\W\d_]{2}")
    ),
    **dict.fromkeys(("CZ", "SE", "SK"), re.compile(r"\d{3}\s?\d{2}\s+[A-ZÀ-Þ][^\W\d_]{1}")),
}
_NUMBER_FORMS: Final = {
    "ID": re.compile(r"\d{2}\.\d{3}\.\d{3}\.\d-\d{3}\.\d{3}"),
    "BR": re.compile(r"\d{2}\.\d{3}\.\d{3}/\d{4}-\d{2}|\d{3}\.\d{3}\.\d{3}-\d{2}"),
    "IN": re.compile(r"\d{2}[A-Z]{5}\d{4}[A-Z]\dZ[A-Z0-9]"),
    "CL": re.compile(r"\d{1,2}\.\d{3}\.\d{3}-[\dkK]"),
    "DE": re.compile(r"\d{2,3}/\d{3,4}/\d{4,5}"),
    "CH": re.compile(r"CHE-?\d{3}\.?\d{3}\.?\d{3}"),
    "ES": re.compile(r"[A-HJNPQRSUVW]-?\d{8}|\d{8}[A-Z]"),
}
_VAT: Final = re.compile(
    r"(?:BTW\s?)?((?:DE|AT|BE|NL|FR|GB|IT|ES|PL|CZ|DK|SE|FI|IE|LU|PT|HU|RO|BG|SK|SI|HR|EL|LT|LV|EE)"
    r"(?=(?:[\s.-]?[A-Z0-9])*?(?:[\s.-]?\d){6})[\sA-Z0-9.-]{7,16})"
)
_SCHEME: Final = re.compile(r"\(([A-Z]{2})\)\s*[A-Z0-9]")
_IBAN: Final = re.compile(r"\b([A-Z]{2})\d{2}(?:\s?[A-Z0-9]{4}){3,7}\b")
_DIAL: Final = re.compile(r"(?:\+\s?(\d{1,3})(?=[\s(./-]?\s?\d)|\b00(\d{2,3})(?=[\s(/-]))")
_DIAL_CODES: Final = {
    "49": "DE", "43": "AT", "41": "CH", "33": "FR", "44": "GB", "39": "IT", "34": "ES", "31": "NL",
    "32": "BE", "45": "DK", "46": "SE", "47": "NO", "48": "PL", "420": "CZ", "421": "SK",
    "36": "HU", "351": "PT", "352": "LU", "353": "IE", "358": "FI", "30": "GR", "40": "RO",
    "62": "ID", "65": "SG", "60": "MY", "61": "AU", "64": "NZ", "91": "IN", "86": "CN", "81": "JP",
    "852": "HK", "55": "BR", "54": "AR", "56": "CL", "57": "CO", "52": "MX", "51": "PE",
    "972": "IL", "971": "AE",
}  # fmt: skip
# Codes that end an address by themselves; others are too often a state or a province.
_ALONE: Final = frozenset(
    [
        *("AT", "BE", "BG", "CH", "CZ", "DE", "DK", "ES", "FI", "FR", "GB", "GR", "HR", "HU"),
        *("IE", "IT", "LU", "NL", "NO", "PL", "PT", "RO", "SE", "SG", "SI", "SK", "US"),
    ]
)
_FORMS: Final = {
    re.compile(r"\b(?:GmbH|mbH|UG|KG)\b"): ("DE", "AT", "CH", "LI"),
    re.compile(r"\b(?:SARL|SAS|SASU|EURL)\b"): ("FR", "LU", "BE", "CH"),
    re.compile(r"\bB\.?V\b"): ("NL", "BE"),
    re.compile(r"\bS\.?r\.?l\b|\bS\.?p\.?A\b"): ("IT",),
    re.compile(r"^PT\b"): ("ID",),
    re.compile(r"\bsp\. z o\.? ?o\b"): ("PL",),
    re.compile(r"\bs\. ?r\. ?o\b"): ("CZ", "SK"),
}
_ONE_COUNTRY: Final = {
    money: country
    for country, money in MONEY_OF.items()
    if list(MONEY_OF.values()).count(money) == 1
}


@dataclass(frozen=True, slots=True)
class CountrySign:
    """Something on the page that speaks for a country."""

    country: str
    confidence: float
    cell: TextCell
    start: int = 0
    end: int = 0


def find_countries(sheet: TextSheet, values: Values) -> dict[str, Value]:
    """`seller.country` and `buyer.country`, as codes of ISO 3166."""
    own, theirs = (party_cells(sheet, values, side) for side in ("seller", "buyer"))
    seller = _choose([*_read_cells(own), *_read_number(sheet, values.get("seller.tax_id"))])
    buyer = _choose([*_read_cells(theirs), *_read_number(sheet, values.get("buyer.tax_id"))])
    if not seller:
        taken = {id(cell) for cell, _ in theirs}
        others = [cell for _, _, cell in sheet.cells if id(cell) not in taken]
        seller = _choose([*_read_contacts(others)]) or _guess(sheet, values.get("currency"))
    place = values.get("buyer.address") or values.get("buyer.name")
    near = buyer or _find_neighbour(seller, theirs)
    found = {"seller.country": seller, "buyer.country": near or _share(seller, place)}
    return {path: value for path, value in found.items() if value is not None}


def find_homes(sheet: TextSheet, seller: Value | None, buyer: Value | None) -> tuple[str, str]:
    """The countries that the addresses of seller and buyer name for sure; empty where none."""
    names = {"seller.name": seller, "buyer.name": buyer}
    values = {path: name for path, name in names.items() if name}
    found = [
        _choose([*_read_addresses(party_cells(sheet, values, side))])
        for side in ("seller", "buyer")
    ]
    own, theirs = (one.value if one and one.confidence >= POSTCODE else "" for one in found)
    return own, theirs


def _find_neighbour(seller: Value | None, cells: Iterable[tuple[TextCell, int]]) -> Value | None:
    """The seller's own country for a buyer whose postcode has its form and who names none: only
    within a country letters go without its name."""
    form = _HOME_POSTCODES.get(seller.value) if seller and seller.confidence >= DIALLED else None
    for cell, start in cells if form else ():
        match = form.match(cell.text, start) if form else None
        if match and seller:
            return _make_value(CountrySign(seller.value, DIALLED, cell, *match.span()), DIALLED)
    return None


def _share(seller: Value | None, place: Value | None) -> Value | None:
    """The seller's country for the buyer, unless the form of the company is another's."""
    if seller is None:
        return None
    place = place or seller
    for pattern, countries in _FORMS.items():
        if pattern.search(place.text) and seller.value not in countries:
            return Value(countries[0], FORMED, place.page, place.box, place.text)
    sure = min(seller.confidence, SHARED)
    return Value(seller.value, sure, place.page, place.box, place.text)


def party_cells(sheet: TextSheet, values: Values, side: str) -> list[tuple[TextCell, int]]:
    """The cells that speak of a party, each with the place where it begins to."""
    other = "buyer" if side == "seller" else "seller"
    cells = [*_own_cells(sheet, values.get(f"{side}.name"), values.get(f"{other}.name"))]
    address = values.get(f"{side}.address")
    if address and address.box:
        inside = (cell for _, _, cell in sheet.cells if cell.page == address.page)
        cells += [(cell, 0) for cell in inside if address.box.holds(cell.box)]
    return cells


def _own_cells(
    sheet: TextSheet, name: Value | None, other: Value | None
) -> Iterator[tuple[TextCell, int]]:
    """What stands behind a party's name and under it, wherever the page says the name.

    With each cell the place where it begins to speak: behind the name itself.
    """
    key = labels.squeeze(name.value) if name else ""
    stop = labels.squeeze(other.value) if other else ""
    if len(key) < SHORT:
        return
    for row, _, cell in sheet.cells:
        text = labels.squeeze(cell.text)
        if not text.startswith(key):
            continue
        if text != key and name:
            yield cell, cell.text.find(name.text) + len(name.text) if name.text in cell.text else 0
        yield from ((below, 0) for below in _cells_below(sheet, row, cell, stop=stop))


def _cells_below(
    sheet: TextSheet, row: TextRow, cell: TextCell, *, stop: str
) -> Iterator[TextCell]:
    last = cell
    for count, (_, _, below) in enumerate(find_lines_below(sheet, row, cell.box)):
        key = labels.squeeze(below.text)
        wide = below.box.middle - last.box.middle > GAP * max(last.box.height, below.box.height)
        if wide or count == MOST_LINES or key in lexicon.PARTIES or (stop and key.startswith(stop)):
            return
        yield below
        last = below


def _read_cells(cells: Iterable[tuple[TextCell, int]]) -> Iterator[CountrySign]:
    """What the lines of a party say."""
    for cell, start in cells:
        yield from _read_addresses([(cell, start)])
        yield from _find_contacts(cell, start)


def _read_addresses(cells: Iterable[tuple[TextCell, int]]) -> Iterator[CountrySign]:
    for cell, start in cells:
        yield from _find_names(cell, start)
        yield from _find_codes(cell, start)
        yield from _find_postcodes(cell, start)


def _find_names(cell: TextCell, start: int) -> Iterator[CountrySign]:
    """A country's name that is a part of the line by itself, or ends one."""
    at = start
    for part in _PARTS.split(cell.text[start:]):
        text = _FIGURES.sub("", part)
        place = cell.text.find(part, at)
        at = max(place, at)
        alone = part.strip() in _ALONE and cell.text[max(at - 1, 0)] != "("
        country = part.strip() if alone else tables.find_ending_country(text)
        if country:
            yield CountrySign(country, CODED if alone else NAMED, cell, at, at + len(part))


def _find_codes(cell: TextCell, start: int) -> Iterator[CountrySign]:
    for match in _PREFIXED.finditer(cell.text, start):
        code = _CAR_CODES.get(match[1], match[1] if match[1] in tables.ALPHA3 else "")
        if code and match[1] not in {"RE", "NR", "PO"}:
            yield CountrySign(code, CODED, cell, *match.span())
    led = _LED.match(cell.text, start)
    if led and led[1] in _ALONE:
        yield CountrySign(led[1], CODED, cell, *led.span())


def _find_postcodes(cell: TextCell, start: int) -> Iterator[CountrySign]:
    for country, pattern in _POSTCODES.items():
        for match in pattern.finditer(cell.text, start):
            yield CountrySign(country, POSTCODE, cell, *match.span())


def _find_contacts(cell: TextCell, start: int) -> Iterator[CountrySign]:
    """Telephone, bank account and tax number."""
    for match in _DIAL.finditer(cell.text, start):
        codes = ((match[1] or match[2])[:length] for length in (3, 2))
        found = next((_DIAL_CODES[code] for code in codes if code in _DIAL_CODES), "")
        if found:
            yield CountrySign(found, DIALLED, cell, *match.span())
    for match in _IBAN.finditer(cell.text, start):
        if match[1] in tables.ALPHA3:
            yield CountrySign(match[1], BANKED, cell, *match.span())
    if (match := _SCHEME.search(cell.text, start)) and match[1] in tables.ALPHA3:
        yield CountrySign(match[1], NUMBERED, cell, *match.span())


def _read_contacts(cells: Iterable[TextCell]) -> Iterator[CountrySign]:
    """Of lines that are nobody's by their place, and so the seller's."""
    for cell in cells:
        yield from _find_contacts(cell, 0)


def country_of_number(number: Value) -> str:
    """The country that a tax number begins with; empty where it names none."""
    if (match := _SCHEME.search(number.text)) and match[1] in tables.ALPHA3:
        return match[1]
    match = _VAT.match(number.value)
    return tables.country_of_vat_id(match[1]) if match else ""


def _read_number(sheet: TextSheet, number: Value | None) -> Iterator[CountrySign]:
    """The country whose tax numbers look so; where the number stands is where it was read."""
    place = _find_cell(sheet, number)
    if number is None or place is None:
        return
    start = max(place.text.find(number.text), 0)
    span = start, start + len(number.text)
    if country := country_of_number(number):
        yield CountrySign(country, NUMBERED, place, *span)
    for country, pattern in _NUMBER_FORMS.items():
        if pattern.fullmatch(number.value):
            yield CountrySign(country, POSTCODE, place, *span)


def _find_cell(sheet: TextSheet, value: Value | None) -> TextCell | None:
    if value is None or value.box is None:
        return None
    box = value.box
    for _, _, cell in sheet.cells:
        level = cell.page == value.page and cell.box.y0 <= box.middle <= cell.box.y1
        if level and cell.box.x0 - 1 <= box.x0 <= cell.box.x1:
            return cell
    return None


def _choose(signs: list[CountrySign]) -> Value | None:
    """The surest sign; one that another as good contradicts is no longer sure."""
    if not signs:
        return None
    best = max(signs, key=lambda sign: sign.confidence)
    others = [sign for sign in signs if sign.country != best.country]
    against = max((sign.confidence for sign in others), default=0.0)
    sure = CONTRADICTED if against >= min(best.confidence, POSTCODE) else best.confidence
    return _make_value(best, sure)


def _make_value(sign: CountrySign, sure: float) -> Value:
    text = sign.cell.text[sign.start : sign.end].strip(" ,()") or sign.cell.text
    box = sign.cell.place(sign.start, sign.end or len(sign.cell.text))
    return Value(sign.country, sure, sign.cell.page, box, text)


@cache
def _word_patterns(topic: str) -> Mapping[str, re.Pattern[str]]:
    words = load_words()
    return {
        name: re.compile(rf"(?<![^\W\d_]){words.pattern(topic, name)}(?![^\W\d_])")
        for name in words.names(topic)
    }


def _guess(sheet: TextSheet, currency: Value | None) -> Value | None:
    """By the words of a country, else by the currency, else by the language; never sure."""
    money = currency.value if currency else ""
    if spoken := _count_words(sheet, "country", money):
        return _make_value(spoken, SPOKEN)
    if currency and (country := _ONE_COUNTRY.get(money, "")):
        return Value(country, PAID, currency.page, currency.box, currency.text)
    written = _count_words(sheet, "country language", money)
    return _make_value(written, WRITTEN) if written else None


def _count_words(sheet: TextSheet, topic: str, money: str) -> CountrySign | None:
    """The country with most words on the page, among those that pay so; rather longer words."""
    best: tuple[int, int] = 0, 0
    chosen = ""
    whole = "\n".join(cell.text for _, _, cell in sheet.cells)
    for country, pattern in _word_patterns(topic).items():
        if money and MONEY_OF[country] != money:
            continue
        texts = {match[0].lower() for match in pattern.finditer(whole)}
        count = len(texts), sum(map(len, texts))
        if count > best:
            best, chosen = count, country
    return _first_word(sheet, chosen, _word_patterns(topic)[chosen]) if chosen else None


def _first_word(sheet: TextSheet, country: str, pattern: re.Pattern[str]) -> CountrySign | None:
    for _, _, cell in sheet.cells:
        if match := pattern.search(cell.text):
            return CountrySign(country, SPOKEN, cell, *match.span())
    return None
