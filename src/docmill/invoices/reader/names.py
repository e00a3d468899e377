"""Blocks of lines that stand under each other: letterheads, addresses, footers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.amounts import find_role
from docmill.invoices.reader.headings import exact_kind
from docmill.invoices.reader.lexicon import GOODS_PARTY, SHIP
from docmill.reading import labels
from docmill.reading.dates import find_dates
from docmill.reading.labels import (
    COMPANY,
    Phrase,
    TextCell,
    TextRow,
    TextSheet,
    names_company,
    squeeze,
)
from docmill.reading.numbers import has_figure
from docmill.reading.pages import Box, bounding_box
from docmill.reading.screens import find_any, quicken, split_at_edges

MAX_BLOCK_LINES: Final = 12
ALIGNED: Final = 4.0
GRID: Final = 2.0  # points between the edges of cells in one column of a form
LEADING: Final = 1.9
_ADDRESS: Final = lexicon.lowered_pattern(
    r"(?<!\d)(?:[A-Z]{1,2}-)?\d{5}(?!\d)|(?<!\d)\d{4} [A-Z]|\d{3} \d{2} |"
    r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b|\b[A-Z]\d[A-Z] \d[A-Z]\d\b|"
    + lexicon.printed_words("address")
)
_CONTACT: Final = split_at_edges(lexicon.lowered_pattern(lexicon.printed_words("contact")).pattern)
_TAXED: Final = split_at_edges(lexicon.lowered_pattern(lexicon.printed_words("taxed")).pattern)
_REACHED: Final = re.compile(
    rf"{quicken(lexicon.lowered_pattern(lexicon.printed_words('reached')).pattern)}"
    r"[^\d\n]{0,12}\d|www\.|https?:"
)


@lru_cache(maxsize=1024)  # each name is asked in both roles
def has_contact(text: str) -> bool:
    """Whether lines say how to reach or pay somebody."""
    return find_any(_CONTACT, text.lower())


@lru_cache(maxsize=1024)
def is_taxed(text: str) -> bool:
    """Whether lines name a tax number."""
    return find_any(_TAXED, text.lower())


@lru_cache(maxsize=1024)
def is_reached(text: str) -> bool:
    """Whether lines say how to ring somebody, or where to look on the web."""
    return _REACHED.search(text.lower()) is not None


@dataclass(frozen=True)  # no slots: what it says is asked for again and again, and kept
class AddressBlock:
    """Lines under each other, and what they speak of."""

    cells: tuple[TextCell, ...]
    above: TextCell | None

    @cached_property
    def text(self) -> str:
        return "\n".join(cell.text for cell in self.cells)

    @cached_property
    def has_address(self) -> bool:
        return len(self.cells) > 1 and bool(
            _ADDRESS.search("\n".join(c.text for c in self.cells[1:]).lower())
        )

    @cached_property
    def contact_weight(self) -> float:
        """How much it says of how to reach or pay somebody; a tax number alone says less."""
        return 1.0 if has_contact(self.text) else 0.5 if is_taxed(self.text) else 0.0

    @cached_property
    def is_delivery(self) -> bool:
        return self._is_headed(SHIP)

    @cached_property
    def is_of_goods(self) -> bool:
        """Whether it is where goods go to or come from, unless nobody else is billed."""
        return self._is_headed(SHIP) or self._is_headed(GOODS_PARTY)

    def _is_headed(self, pattern: re.Pattern[str]) -> bool:
        heads = (self.cells[0].text, self.above.text if self.above else "")
        texts = (text for head in heads for text in head.partition(":")[0].split("/"))
        return any(pattern.fullmatch(squeeze(text)) for text in texts)


def find_blocks(sheet: TextSheet) -> list[AddressBlock]:
    """Every run of two lines or more with one left, right or middle edge."""
    blocks: list[AddressBlock] = []
    taken: set[int] = set()
    cells = [cell for _, _, cell in sheet.cells]
    for at, cell in enumerate(cells):
        if id(cell) in taken:
            continue
        run = _aligned_run(cells, at)
        if len(run) > 1:
            taken |= {id(member) for member in run}
            blocks.append(AddressBlock(tuple(run), _cell_above(cells[max(at - 12, 0) : at], cell)))
    return blocks


def _cell_above(before: list[TextCell], cell: TextCell) -> TextCell | None:
    """The nearest cell above that shares some width."""
    for other in reversed(before):
        apart = cell.box.middle - other.box.middle
        if (
            other.page == cell.page
            and 2 < apart < 3.5 * cell.box.height
            and _shares_width(other, cell)
        ):
            return other
    return None


def _shares_width(cell: TextCell, other: TextCell) -> bool:
    return cell.box.x0 < other.box.x1 and cell.box.x1 > other.box.x0


def _aligned_run(cells: list[TextCell], at: int) -> list[TextCell]:
    run = [cells[at]]
    for cell in cells[at + 1 :]:
        last = run[-1]
        if cell.page != last.page or cell.box.middle - last.box.middle > LEADING * last.box.height:
            break
        if cell.box.y0 < last.box.middle or not is_aligned(cell, last):
            continue
        run.append(cell)
        if len(run) == MAX_BLOCK_LINES:
            break
    return run


def is_aligned(cell: TextCell, last: TextCell) -> bool:
    one, two = cell.box, last.box
    return (
        abs(one.x0 - two.x0) < ALIGNED
        or abs(one.x1 - two.x1) < ALIGNED
        or abs(one.x0 + one.x1 - two.x0 - two.x1) < ALIGNED
    )


MAX_CHARS: Final = 70
MAX_WORDS: Final = 9
SHORT_TITLE: Final = 4  # letters: `bill` and `nota` end names as well
SENTENCE: Final = 4  # words: more may be one
ROWS: Final = 10
REACH: Final = 13.0
_TAX_LABEL: Final = r"(?:[CN]\.?I\.?F|NIP|NPWP|RFC|RUC|NIT|CUIT|CNPJ|P\.?\s?IVA|BTW|TVA)\b"
_PARTS: Final = re.compile(
    r"\s*(?:\bau capital\b|[·•|●∙◦▪]|\s[–—-]\s|\s{2,}(?=\S+\s?\d)"
    r"|,\s(?!(?:Tbk|Ltd|Inc|LLC|S\.?A|S\.?L|GmbH|Lda)\b)(?=[^,]*\d)"
    rf"|(?<=\w)[.,;]{{0,2}}\s+(?={_TAX_LABEL}\W{{0,3}}(?:[A-Z]{{1,2}})?\d)"
    rf"|(?<=\w)[.,;]?(?:\s{lexicon.printed_words('imprint_verb')})?"
    rf"\s+(?=(?i:{lexicon.printed_words('imprint')})))\s*"
)
_IN_WORDS: Final = re.compile(  # an amount that is written out
    r"\w+ \w+ .*\b(?:rupiah|dollars?|euros?|pesos|złotych|reais|rupees|kronor|forint)\W*$",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(r"\s*[/()]\s*")
_FIRM_NUMBER: Final = re.compile(  # `9418-2275 Québec inc.`, `53.118.204 RUI NOBRE`, `4 Pfoten AG`
    r"(?:\d{4}-\d{4}|\d{6,7}) (?=\w+ (?:[Ii]nc|[Ll]td|[Ll]t[ée]e))|\d\d\.\d{3}\.\d{3} (?=[A-Z]{3})"
    r"|\d{1,3} (?=[A-Z][^\d,]+ (?:GmbH|AG|S\.?A\.?S?|S\.?L\.?|[Ss]\.?r\.?l\.?|Ltd|LLC|AB|AS|ApS"
    r"|B\.?V|Kft)\.?$)"
)
_CODE: Final = re.compile(r"(?:[A-Z]{1,3}\d{1,5}|\d{1,5}[A-Z]{1,3})(?:[ -][A-Z0-9]{1,4})?")
_POSTCODE: Final = re.compile(
    r"(?<!\d)\d{4,6}$|\b(?:[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d)$"
)
MAX_PARTICLE: Final = 3  # letters: `de`, `und`, `dos`
_FIGURES: Final = re.compile(r"\d")
_BULLETS: Final = re.compile(r"[·•|●∙◦▪]")
_DASH: Final = re.compile(r"[^–—-]*[^\s–—-](\s[–—-]\s)")
_PLACE: Final = re.compile(
    r"(?:[A-Z]{1,2}-)?\d{4,6}\b|.*\s\d{1,4}\s?[a-zA-Z]?$"
    rf"|(?i:(?:.*\s)?{lexicon.printed_words('house_part')})\.? (?:[Nn]o\.? ?)?[A-Z]{{0,2}}\d"
    rf"|.*(?:{_POSTCODE.pattern})|.*\ss/n[º.]?$"
)
_HOUSE: Final = re.compile(r"(?:h\.? ?)?(?:no\.?)? ?[a-z]{0,2}[-/]?\d{1,4}[a-z]?(?:[-/]\d+)*,\s+")
_NUMBERED: Final = lexicon.printed_pattern("numbered", "", r"\b[^\d,/]*\s\d{1,3}")
_LABEL: Final = re.compile(
    rf"{lexicon.printed_words('label_colon')}\s?:\s*|{lexicon.printed_words('label_space')}\s+"
    rf"|{lexicon.printed_words('paper_from')}\s+|{lexicon.printed_words('head_of')}\s+(?=(?:PT|CV|UD|Yayasan|Koperasi|Toko|RS|Perum|Dinas|Universitas)\b)",
    re.IGNORECASE,
)
_INITIALS: Final = re.compile(r"(?:\b[A-Z]\.){2,}$")  # a form that nobody has listed: `C.B.`
_WORDS_OF_PROSE: Final = re.compile(r"(?:(?<!\S)[^\W\d_A-ZÀ-Þ]{5,}(?!\S).*){2}")
_NOT_NAME: Final = lexicon.lowered_pattern(lexicon.printed_words("not_name"))
_SAMPLE: Final = lexicon.printed_pattern("sample", r"(?<=\w )", r"$")
_REFERRING: Final = lexicon.printed_pattern("referring")
_GREETING: Final = lexicon.printed_pattern("greeting", "", r"\s+[A-ZÀ-Þ]")
_NOT_COMPANY: Final = lexicon.printed_pattern("not_company", "", r"\b")
_PLACEHOLDER: Final = lexicon.printed_pattern("placeholder", r"[\[<{(]?", r"[\]>})]?")
_TOWN: Final = re.compile(
    r"[^\d,]+, (?:[A-Z]{2,3}\.? )?\d{4,6}(?:-\d{4})?(?:,? [A-Z][\w. ]+)?"
    rf"|[^\d,/]+?\s?[/–-]\s?{lexicon.printed_words('state')}(?:\W+(?:CEP\W*)?\d{{5}}-?\d{{3}})?"
)
FORM_ONLY: Final = re.compile(
    rf"(?!Company|Firma|Verlag)(?:(?:{COMPANY.pattern})[\s&.,]*(?:de )?)+"
)
_STREET: Final = re.compile(
    rf"(?<!\w){quicken(lexicon.lowered_pattern(lexicon.printed_words('street')).pattern)}"
    r"\s*(?:\d|$)"
)


@dataclass(frozen=True, slots=True)
class PartyName:
    """A name that may be a party's, and where it stands."""

    text: str
    cell: TextCell
    start: int
    score: float
    below: TextCell | None = None

    @property
    def box(self) -> Box:
        """Where it stands, with its second line if it has one."""
        last = self.start + len(self.text)
        own = self.cell.place(self.start, min(last, len(self.cell.text)))
        return bounding_box([own, self.below.box]) if self.below else own


@lru_cache(maxsize=8192)  # each line is asked by several rules
def split_parts(text: str) -> tuple[str, ...]:
    """A line cut at bullets, bars and dashes: `Firm · Street 1 · Town`."""
    parts = [part.strip(" ,") for part in _PARTS.split(text) if part.strip(" ,")] or [text]
    if len(parts) > 1 and (dash := _DASH.match(text)) and _is_one_name(parts[0], parts[1]):
        parts = [f"{parts[0]}{dash[1]}{parts[1]}", *parts[2:]]
    first, comma, rest = parts[0].partition(", ")
    if comma and ends_company(first) and not ends_company(rest):
        return (first, rest, *parts[1:])
    return tuple(parts)


def _is_one_name(first: str, second: str) -> bool:
    """Whether a dash stands inside a name: before what the firm does and its form, or two firms."""
    if _FIGURES.search(second) or "@" in second:
        return False
    joint = all(COMPANY.match(part) for part in (first, second))
    return joint or (ends_company(second) and not COMPANY.search(first))


def ends_company(text: str) -> bool:
    """Whether a company's form ends a text, as `GmbH` and `Ltd` do."""
    return any(match.end() == len(text) for match in COMPANY.finditer(text))


def make_name(cell: TextCell, start: int, score: float) -> PartyName:
    """The name at a place: without its label, without the address behind it."""
    label = _LABEL.match(cell.text[start:])
    begin = start + (label.end() if label else 0)
    begin += len(cell.text[begin:]) - len(cell.text[begin:].lstrip(" :"))
    return PartyName(split_parts(cell.text[begin:])[0], cell, begin, score)


def find_row(sheet: TextSheet, cell: TextCell) -> TextRow | None:
    """The row that a cell is in."""
    return sheet.row_of.get(id(cell))


@lru_cache(maxsize=8192)
def is_name(text: str, *, given: bool = False) -> bool:
    """Whether words can be a name: letters, not too many, no label, heading, street or date.

    One that a label gives may end in a number, as the name of a house does.
    """
    label = _LABEL.match(text)
    parts = split_parts((text[label.end() :] if label else text).lstrip(" :"))
    bare = parts[0]
    if given and is_placeholder(bare):
        return True
    if not _is_worded(bare) or _is_said(text, bare):
        return False
    company = names_company(bare)
    if (_IN_WORDS.search(bare) and not company) or lists_services(text):
        return False
    formed = company and not _NOT_COMPANY.match(bare)
    if _NOT_NAME.match(bare.lower()) and not (
        formed or _is_made_up(bare) or (given and _is_proper(bare))
    ):
        return False
    if (
        _is_title(bare)
        or _is_labelling(bare)
        or (_POSTCODE.search(bare) and not given)
        or FORM_ONLY.fullmatch(bare)
    ):
        return False
    if not (company or given) and (
        is_town(text) or _ends_as_place(bare) or _is_numbered_twice(parts)
    ):
        return False
    if bare.endswith((".", ":", "!", "?")) and not (company or _INITIALS.search(bare)):
        return False
    worded = bool(exact_kind(bare)) or (_names_amount(bare) and not company)
    worded = worded or (not given and _is_sentence(bare))
    street = _names_street(text.lower().lstrip(" -–")) and not _NUMBERED.fullmatch(bare)
    return not (worded or street or find_dates(text))


def _is_numbered_twice(parts: Sequence[str]) -> bool:
    """Whether a line has two parts and a number in the second, unless that is a tax number."""
    return len(parts) == 2 and has_figure(parts[1]) and not is_taxed(parts[1])


def _is_title(text: str) -> bool:
    """Whether words end in one for an invoice, or begin with one and go on with its number."""
    words = text.split()
    first, last = squeeze(words[0]), squeeze(words[-1])
    ends = len(last) > SHORT_TITLE and lexicon.NUMBER_TITLE.fullmatch(last)
    begins = len(first) > SHORT_TITLE and lexicon.NUMBER_TITLE.fullmatch(first)
    return bool(ends or (begins and has_figure(text))) and not names_company(text)


def _is_said(text: str, bare: str) -> bool:
    """Whether words bless, greet, or name somebody by pointing elsewhere: `Same as consignee`."""
    greets = _GREETING.match(bare) and not names_company(bare)
    return text.startswith("||") or bool(greets) or _REFERRING.fullmatch(bare) is not None


def _is_sentence(text: str) -> bool:
    """Whether words are prose; a company's form may be a sentence: `z ograniczoną ..`."""
    if len(text.split()) <= SENTENCE or text.islower():
        return False
    return _WORDS_OF_PROSE.search(COMPANY.sub("", text)) is not None


def is_sample_name(text: str) -> bool:
    """Whether a name begins with a word of a label, as in templates: `Kunde Kundesen`."""
    words = text.split()
    proper = len(words) > 1 and all(word[0].isupper() and word.isalpha() for word in words)
    other = _is_labelling(text) or _names_amount(text) or _REFERRING.fullmatch(text)
    return proper and not other


def is_placeholder(text: str) -> bool:
    """Whether a template has it where a name will go: `Your Company`, `Client Name`.

    Such words may as well be the label of a name.
    """
    return _PLACEHOLDER.fullmatch(text) is not None


def list_names(cells: Sequence[TextCell]) -> list[TextCell]:
    """Of the first lines of a block those that can be names."""
    behind = [*cells[1:], None]
    return [
        cell
        for cell, after in list(zip(cells, behind, strict=True))[:3]
        if is_name(cell.text)
        or (is_placeholder(cell.text) and after is not None and is_place(after.text))
    ]


def _is_proper(text: str) -> bool:
    """Whether a text is two words or more that all begin large, but for short ones."""
    words = text.split()
    return len(words) > 1 and all(word[0].isupper() for word in words if len(word) > MAX_PARTICLE)


def _is_made_up(text: str) -> bool:
    """Whether a name is made up of the word for a party: `Cliente de Prueba`, `Client Test`."""
    first = squeeze(text.split()[0]).removesuffix("s")
    named = any(kind.fullmatch(first) for kind in (lexicon.BUYER, lexicon.SELLER))
    titled = lexicon.NUMBER_TITLE.fullmatch(first)
    return named and not titled and _SAMPLE.search(text) is not None


def _is_worded(text: str) -> bool:
    """Whether a text is letters in the main, not too many, no code, question or address."""
    if number := _FIRM_NUMBER.match(text):
        text = text[number.end() :]
    letters = sum(map(str.isalpha, text))
    enough = letters >= 3 and letters * 2 >= len(text.replace(" ", "")) and text[0] != "("
    if not enough or len(text) > MAX_CHARS or len(text.split()) > MAX_WORDS:
        return False
    return not (text[0].isdigit() or set(text) & set("@:?") or _CODE.fullmatch(text))


def lists_services(text: str) -> bool:
    """Whether a line says what a firm does, in a row: `Repairs · Tyres · Parts`."""
    several = len(split_parts(text)) > 2 and _BULLETS.search(text)
    return bool(several) and not _FIGURES.search(text) and "@" not in text


def _names_amount(text: str) -> bool:
    """Whether words name an amount; `Transports Roche` moves goods, and charges for it."""
    role = find_role(text)[0]
    words = text.split()
    titled = text.istitle() or (role == "charge" and len(words) > 2 and _is_proper(text))
    proper = len(words) > 1 and titled and not any(char in text for char in "()%")
    behind = len(words) > 2 and not find_role(" ".join(words[1:]))[0]
    return bool(role) and not (proper and (role == "charge" or behind))


def _names_street(lower: str) -> bool:
    """Whether a word for a street stands before a number or ends a text without one."""
    house = _HOUSE.match(lower)
    lower = lower[house.end() :] if house else lower
    street = _STREET.search(lower)
    return street is not None and not _FIGURES.search(lower, 0, street.start())


def _is_numbered(text: str) -> bool:
    """Whether a line begins with a number that is no part of a firm's name."""
    return text[:1].isdigit() and not _FIRM_NUMBER.match(text)


def has_street(text: str) -> bool:
    """Whether a line begins with a number or names a street, or ends in a postcode."""
    return _is_numbered(text) or _names_street(text.lower()) or bool(_POSTCODE.search(text))


@lru_cache(maxsize=8192)
def is_place(text: str) -> bool:
    """Whether a line is one of an address: a street with its number, or a postcode."""
    street = _is_numbered(text) or _ends_as_place(text) or _names_street(text.lower())
    return street and not names_company(text)


def _ends_as_place(text: str) -> bool:
    """Whether a number says that a line is a street or town; schools and clinics have one too."""
    numbered = has_figure(text) or "s/n" in text
    return numbered and _PLACE.match(text) is not None and not _NUMBERED.fullmatch(text)


def _is_labelling(text: str) -> bool:
    """Whether the words only say that a name follows, in one language or two."""
    parts = text.lower().split("/")
    called = len(parts) > 1 and all(map(_is_calling, parts))
    within = [part for part in _BETWEEN.split(text) if part]
    headed = len(within) > 1 and all(map(_is_label, within))
    return called or headed or any(_is_label(part) for part in text.split(" / "))


def _is_calling(text: str) -> bool:
    """Whether a word is said before a name: `Herrn`, `Firma`, `Mrs`."""
    return squeeze(text) in lexicon.COURTESIES or _NOT_NAME.match(text.strip()) is not None


def _is_label(text: str) -> bool:
    key = labels.squeeze(text)
    if key in lexicon.NAMING:
        return True
    few = len(text.split()) < 4 and not names_company(text)
    return few and key in lexicon.NAMING_SHORT


def is_town(text: str) -> bool:
    """Whether a line is a town and its state: `Dover, DE 19901`, `Curitiba - PR`."""
    return _TOWN.fullmatch(text) is not None


def is_prose(text: str) -> bool:
    """Whether words read like a sentence or a slogan: most of them begin small."""
    words = [word for word in text.split() if word[0].isalpha()]
    return 2 * sum(word[0].islower() for word in words) >= max(len(words), 1)


def find_lines_below(
    sheet: TextSheet, row: TextRow, box: Box
) -> Iterator[tuple[TextRow, int, TextCell]]:
    """The lines under a label, at its left edge or within its width, nearest first."""
    for other in sheet.rows[row.index + 1 : row.index + 1 + ROWS * 2]:
        if other.page != row.page or other.y - box.middle > REACH * box.height:
            return
        if other.y - box.middle < 0.4 * box.height:
            continue
        for column, cell in enumerate(other.cells):
            near = -8 <= cell.box.x0 - box.x0 <= 40
            if near or (cell.box.x0 < box.x1 and cell.box.x1 > box.x0):
                yield other, column, cell
                break


def heads_grid(sheet: TextSheet, phrase: Phrase, value: TextCell) -> bool:
    """Whether the row below has a label and a value at the same edges, as the grid of a form."""
    at = phrase.row.index + 1
    below = [cell for row in sheet.rows[at : at + 1] for cell in row.cells]
    heads = [cell.text for cell in below if abs(cell.box.x0 - phrase.cell.box.x0) < GRID]
    beside = any(abs(cell.box.x0 - value.box.x0) < GRID for cell in below)
    return beside and bool(heads) and not (is_name(heads[0]) or is_place(heads[0]))
