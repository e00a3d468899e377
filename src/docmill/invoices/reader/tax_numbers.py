"""The tax numbers of seller and buyer: every number on the page goes to the one whose it is."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.countries import country_of_number, find_homes
from docmill.reading import labels
from docmill.reading.labels import (
    COMPANY,
    Phrase,
    TextCell,
    TextSheet,
    Where,
    find_spots,
    match_labels,
)
from docmill.reading.numbers import has_figure
from docmill.reading.pages import Box, Value

LABELLED: Final = 0.75
UNLABELLED: Final = 0.7
FEWEST, MOST = 7, 22  # digits
FAR: Final = 2000.0  # points
UP: Final = 2.0  # a number above a name is further from it than one below
UP_TO_BUYER: Final = 6.0  # above the buyer's name ends what is told of the seller
IN_BLOCK: Final = 110.0  # points: what stands further below the buyer's name is not told of them
NAME_LENGTH: Final = 4
_SCHEME: Final = r"(?:\(([A-Z]{2})\)\s*)?"  # `NIF: (ES) B98602642`
_NUMBER: Final = re.compile(
    rf"{_SCHEME}([A-Z]{{0,3}}\s?(?:[A-Z0-9]{{1,4}}[\s./-]?)*\d(?:[\s./-]?[A-Z0-9]{{1,6}})*)"
)
_LABEL: Final = lexicon.printed_pattern(
    "tax_label", r"\b", r"\s*[:.#]*\s*(?=(?:\([A-Z]{2}\)\s*)?[A-Z]{0,4}\s?-?\d)"
)
_FOREIGN: Final = lexicon.printed_pattern("foreign", r"\b")
# Numbers whose form alone says what they are.
_KNOWN_FORM: Final = re.compile(
    r"(?<![\w/-])(?:DE\d{9}|ATU\d{8}|BE[01]\d{9}|NL\d{9}B\d{2}|FR[0-9A-Z]{2}\d{9}|GB\d{9}|IT\d{11}"
    r"|ES[A-Z]\d{7}[A-Z0-9]|PL\d{10}|CZ\d{8,10}|DK\d{8}|SE\d{12}|IE\d{7}[A-Z]{1,2}|LU\d{8}|PT\d{9}"
    r"|HU\d{8}|CHE-?\d{3}\.\d{3}\.\d{3}|\d{2}[A-Z]{5}\d{4}[A-Z]\dZ[A-Z0-9]"
    r"|\d{2}\.\d{3}\.\d{3}/\d{4}-\d{2}|\d{2}\.\d{3}\.\d{3}\.\d-\d{3}\.\d{3}|[A-HJNPQRSUVW]-\d{8})"
    r"(?![\w/-])"
)


@dataclass(frozen=True, slots=True)
class TaxNumber:
    """A number, and the words that stand before it."""

    label: str
    value: Value


@dataclass(frozen=True, slots=True)
class NumberOwner:
    """How far a number is from each party, and whether its label says whose it is."""

    number: TaxNumber
    to_seller: float
    to_buyer: float
    foreign: bool

    @property
    def is_buyers(self) -> bool:
        return self.foreign or self.to_buyer < self.to_seller

    @property
    def place(self) -> tuple[int, int]:
        """The same for a number that two rules find."""
        box = self.number.value.box
        return self.number.value.page, round(box.y0 + 1000 * round(box.x1 / 4)) if box else 0


@dataclass(frozen=True, slots=True)
class PartyPlaces:
    """Where the page names a party, and the country its address names."""

    places: Sequence[Value]
    home: str


def find_tax_ids(
    sheet: TextSheet, phrases: list[Phrase], *, seller: Value | None, buyer: Value | None
) -> tuple[Value | None, Value | None]:
    """The seller's and the buyer's tax number.

    Each goes to the one whose country it names, else to the nearer name. A seller must print one
    and a buyer need not: where all would be the buyer's, one that does not stand under the buyer's
    name is the seller's. Of the seller's, one for VAT goes before a local one.
    """
    numbers = (*_labelled_numbers(sheet, phrases), *_inline_numbers(sheet), *_known_forms(sheet))
    homes = find_homes(sheet, seller, buyer)
    own = PartyPlaces(_find_mentions(sheet, seller), homes[0])
    theirs = PartyPlaces(_find_mentions(sheet, buyer), homes[1])
    owned = _join_places([_find_owner(number, own, theirs) for number in numbers])
    ours = [one for one in owned if not one.is_buyers]
    yours = [one for one in owned if one.is_buyers]
    if not ours:
        ours = [one for one in yours if not one.foreign and one.to_buyer > IN_BLOCK]
        yours = [one for one in yours if one not in ours]
    ours.sort(key=lambda one: (not country_of_number(one.number.value), one.to_seller))
    yours.sort(key=lambda one: (not one.foreign, one.to_buyer))
    return ours[0].number.value if ours else None, yours[0].number.value if yours else None


def _find_owner(number: TaxNumber, own: PartyPlaces, theirs: PartyPlaces) -> NumberOwner:
    named = bool(own.places) and labels.squeeze(own.places[0].value) in labels.squeeze(number.label)
    country = country_of_number(number.value)
    told = bool(country and own.home and theirs.home) and own.home != theirs.home
    ours = named or (told and country == own.home)
    yours = not named and (bool(_FOREIGN.search(number.label)) or (told and country == theirs.home))
    near = min((_distance(number.value, place, UP) for place in own.places), default=FAR)
    far = min((_distance(number.value, place, UP_TO_BUYER) for place in theirs.places), default=FAR)
    return NumberOwner(number, 0.0 if ours else min(near, FAR), far, bool(yours))


def _join_places(owned: list[NumberOwner]) -> list[NumberOwner]:
    """Each number once; whoever's it is by one rule, it is by all."""
    found: dict[tuple[int, int], NumberOwner] = {}
    for one in owned:
        first = found.setdefault(one.place, one)
        if one.foreign and not first.foreign:
            found[one.place] = replace(first, foreign=True)
    return list(found.values())


def _find_mentions(sheet: TextSheet, name: Value | None) -> list[Value]:
    """Wherever the page says the name, with its company's form or without."""
    if name is None or not name.box:
        return []
    keys = {labels.squeeze(name.value), labels.squeeze(COMPANY.sub("", name.value))}
    keys = {key for key in keys if len(key) >= NAME_LENGTH}
    again = [
        Value(name.value, 0, cell.page, cell.box, cell.text)
        for _, _, cell in sheet.cells
        if _has_any(labels.squeeze(cell.text), keys)
    ]
    return [name, *again]


def _has_any(text: str, keys: set[str]) -> bool:
    for key in keys:  # noqa: SIM110  called for every cell: a generator takes twice as long
        if key in text:
            return True
    return False


def _labelled_numbers(sheet: TextSheet, phrases: list[Phrase]) -> Iterator[TaxNumber]:
    for phrase in match_labels(phrases, lexicon.TAX_ID):
        for spot in find_spots(sheet, phrase):
            if found := _read_number(spot.cell, spot.start):
                yield TaxNumber(phrase.cell.text, found)
                break
            if spot.where is Where.BELOW:
                break


def _inline_numbers(sheet: TextSheet) -> Iterator[TaxNumber]:
    """Numbers whose label stands anywhere in a line, as in an imprint."""
    for cell in _list_figures(sheet):
        for label in _LABEL.finditer(cell.text):
            if found := _read_number(cell, label.end()):
                yield TaxNumber(cell.text[: label.end()], found)


def _list_figures(sheet: TextSheet) -> list[TextCell]:
    """The cells that have a figure: all numbers do."""
    return [cell for _, _, cell in sheet.cells if has_figure(cell.text)]


def _known_forms(sheet: TextSheet) -> Iterator[TaxNumber]:
    for cell in _list_figures(sheet):
        for match in _KNOWN_FORM.finditer(cell.text):
            box = cell.place(*match.span())
            value = Value(match[0], UNLABELLED, cell.page, box, match[0])
            yield TaxNumber(cell.text[: match.start()], value)


def _read_number(cell: TextCell, start: int) -> Value | None:
    match = _NUMBER.match(cell.text, start)
    if not match or not FEWEST <= sum(char.isdigit() for char in match[2]) <= MOST:
        return None
    number = match[2].strip()
    if sum(char.isdigit() for char in number) == FEWEST and not number[0].isalpha():
        return None
    box = cell.place(match.start(2), match.start(2) + len(number))
    return Value(number, LABELLED, cell.page, box, cell.text[match.start() : match.end()].strip())


def _distance(value: Value, name: Value, up: float) -> float:
    """How far a number stands from a name; another page counts more."""
    box, other = value.box, name.box
    if not isinstance(box, Box) or not isinstance(other, Box):
        return FAR
    down = box.middle - other.middle
    across = max(other.x0 - box.x1, box.x0 - other.x1, 0.0)
    pages = 1000.0 * abs(value.page - name.page)
    return (down if down >= 0 else -up * down) + across + pages
