"""Labels on pages: text as labels are compared, rows of cells, and where a value may stand."""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Any, Final, TypeVar

from docmill.reading.numbers import DecimalMark
from docmill.reading.pages import Box, Line, Word, bounding_box

_STROKED: Final = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "ł": "l", "\ufffd": None})
_SEPARATORS: Final = {
    code: None for code in range(128) if not (chr(code).isalnum() or chr(code) in "#%")
}
_FIRST_MARK: Final = "\u0300"  # no character before it combines with another
_TORN_SIGNS: Final = re.compile(r"[{}|~\[\]]")
_TORN: Final = re.compile(r"(?<=[a-z])[{}|~\[\]](?=[a-z])")  # what a font prints for a lost letter


def fold_accents(text: str) -> str:
    """Lower case without accents."""
    lower = text.lower()
    if lower.isascii():
        return lower
    parts = unicodedata.normalize("NFKD", lower.translate(_STROKED))
    return "".join(
        [char for char in parts if char < _FIRST_MARK or not unicodedata.combining(char)]
    )


@lru_cache(maxsize=32768)
def fold(text: str, signs: str = "") -> str:
    """Text as labels are compared: small letters without marks, and figures, in single spaces.

    Of all signs only `signs` are kept.
    """
    plain = fold_accents(text)
    if plain.isascii() and plain.isalnum():
        return plain  # most words are; what follows would change nothing
    if _TORN_SIGNS.search(plain):
        plain = _TORN.sub("", plain)
    if not plain.isascii():
        plain = "".join([char for char in plain if char.isascii() or not char.isalpha()])
    return " ".join(_pieces(signs).findall(plain))


@lru_cache
def _pieces(signs: str) -> re.Pattern[str]:
    return re.compile(rf"[a-z0-9{re.escape(signs)}]+")


@lru_cache(maxsize=32768)
def squeeze(text: str) -> str:
    """The same in one piece, so that `Invoice No.` and `InvoiceNo` are one."""
    plain = text.lower()
    if plain.isascii():  # several times as fast as to find the pieces and join them
        return plain if plain.isalnum() else plain.translate(_SEPARATORS)
    return fold(text, "#%").replace(" ", "")


COMPANY: Final = re.compile(
    r"(?<!\w)(?:g?GmbH|GMBH|Ges\.?\s?m\.?\s?b\.?\s?H\.?|LTD\.?|LIMITED|TBK|INC\.?|PTE|mbH|AG|KG|KGaA"
    r"|OHG|UG|GbR|e\.?\s?K\.?|e\.?\s?V\.?|e\.\s?[Uv]\.|a\.\s?G\.|SE|SARL|S\.?A\.?R\.?L\.?|SAS|SASU|EURL"
    r"|EIRL|E\.I\.R\.L\.?|S\.\s?A\.(?:\s?S\.?)?|SA|Ltd\.?|Limited|LLC|L\.L\.C\.?|Inc\.?|Corp\.?|CORP\.?"
    r"|Corporation|PLC|plc|P?LLP|PLLC|S[àa]rl|S/S|Pty|PTY|PD\.?|KAP|Pvt\.?|PVT\.?|PT\.?|P\.T\.|CV\.?|C\.V\.|UD\.?|U\.D\.|Tbk\.?"
    r"|Persero|P(?:erum|ERUM)(?!\s.*\b(?:Blok|No|Gg|RT|Jl)\b)|Perseroan"
    r"|EV(?=$|\s*[,(])|RSU?D?(?=\s[A-Z])|P?P\.?H\.?U\.?|F\.?H\.?U\.?|S\.?L\.?U?\.?|S\.?r\.?l\.?s?\.?|SRLS?|S\.R\.L\.?S?|S\.?p\.?A\.?|SPA"
    r"|S\.?n\.?c\.?|SNC|S\.a\.s\.?|B\.?V\.?|BVBA|N\.?V\.?|VOF|V\.O\.F\.|vzw|VZW|ASBL|Company|Oyj?|AB|HB"
    r"|(?<=[\w&.+] )Co\.|Co\.(?! [A-Z][a-z]+$)"
    r"|A/S|ApS|I/S|K/S|P/S|ASA|AS(?=$|\s*[,·|(-])|Sdn\.?|Bhd\.?|Pte\.?|Firma|L[Dd][Aa]\.?|L[Tt][Dd][Aa]\.?"
    r"|Unipessoal|C[IÍií][Aa]\.?|EPP|[Ss]p(?:\.|ółka)?\s?z\s?(?:o\.?\s?o\.?|ograniczoną odp\w+)"
    r"|SP(?:\.|ÓŁKA)?\s?Z\s?O\.?\s?O\.?|[Ss]p\.\s?[jk]\.|S\.K\.A\.?|F\.H\."
    r"|[Ss]półka (?:jawna|akcyjna|cywilna|komandytowa)"
    r"|(?:spol\.\s?)?s\.?\s?r\.?\s?o\.?|a\.\s?s\.|v\.\s?o\.\s?s\.|k\.\s?s\.|Kft\.?|KFT\.?|Zrt\.?|ZRT\.?"
    r"|Nyrt\.?|Bt\.?|Kkt\.?|d\.o\.o\.?|S\.?C\.?A\.?|S\.? ?Coop\.?|s\.\s?c\.|s\.\s?n\.\s?c\.?"
    r"|s\.\s?r\.\s?l\.?|s\.\s?p\.\s?a\.?|s\.\s?a\.\s?s\.?|ANS|ENK|Aktiebolag|EIRELI|Eireli|s\.p\.|o\.p\.s\."
    r"|Koperasi|KOPERASI|Yayasan|YAYASAN|Toko|TOKO|Stiftung|Verlag|Versicherung\w*"
    r"|S/A|S\.C\.P\.?|SLNE|S\.A\.C\.(?:I\.F\.?)?|S\.H\.|SGPS|E\.M\.|S\. en C\.?|SCI|GAEC|SCOP"
    r"|SELARL|(?:SAC|MEI|CRL|KB|DA|BA|OG|eG|bv|nv|vof)(?=$|\s*[,·|(])|[Ss]\.?c\.?a\.?r\.?l\.?|Onlus"
    r"|ONLUS|ASD|Soc\.? Coop\.?|[Ee]k\.? för\.?|[Ee]konomisk förening|IVS|A\.?m\.?b\.?[Aa]\.?"
    r"|A\.M\.B\.A\.?|v\.o\.f\.|Comm\.? ?V\.?|SCRL|SComm|GesbR|PartG(?: mbB)?|Partnerschaft mbB"
    r"|inc\.|lt[ée]e\.?|enr\.|[Ss]\.[Ee]\.[Nn]\.[Cc]\.(?:[Rr]\.[Ll]\.)?|[oz]\.\s(?:p\.\s)?[sú]\."
    r"|egyéni vállalkozó|Hnos\.?|HNOS\.?"
    r"|(?:&|e|y|et|i|és) (?:Cie\.?|Hijos|Filhos|Figli|Syn|Synowie|Fia|Zn\.|Zonen|Sønn?|Söner)"
    r"|S\.A\.U\.?|S\.L\.P\.?|C\.B\.?|U\.A\.?|oHG|GIE|Ets"
    r"|& ?(?:[Rr]ekan|REKAN|Partners?|Associés|Associates|Söhne|Sons|Fils))(?!\w)"
)


@lru_cache(maxsize=8192)
def names_company(text: str) -> bool:
    """Whether a company's form stands in a text; the same texts are asked by many rules."""
    return COMPANY.search(text) is not None


MAX_LABEL_WORDS: Final = 6
MAX_STARTS: Final = 8
MAX_LABEL_CHARS: Final = 40
REACH: Final = 4.4  # of the height: how far under its label a value may stand
EDGE: Final = 3.0
OFFSET: Final = 0.75  # of the height: how far a value's line may lie from its label's
CAPTION: Final = 1.5  # of the value's height: how far its label may stand under it
SMALLER: Final = 1.2  # how much larger than its label a value over it is
_TOKEN: Final = re.compile(  # letters set wide apart are one word, and so is a date
    r"(?<!\S)[^\W\d_](?: {1,2}[^\W\d_]){3,}(?!\S)|\d+/\d+/\d+|[^\s:/]+:?|:|/"
)
_NUMBERING: Final = re.compile(r"\(?\d{1,2}[).]\s*(?=[^\W\d])")
_LEAD: Final = re.compile(r"^[\s:=.#>–-]+")
_ID_SIGNS: Final = frozenset("/.-")
_INSIDE_ID: Final = re.compile(r"[/.-]+\w*\d")
_TWIN: Final = re.compile(
    r"\s*[/(|]\s*[^\W\d][^:\d]{0,30}\s*(?=:|$)"
)  # the label again, translated
_LETTER: Final = re.compile(r"[^\W\d_]")


class Where(IntEnum):
    """Where a value stands, seen from its label."""

    BEHIND = 0
    BESIDE = 1
    BELOW = 2
    FAR_BELOW = 3
    BEFORE = 4


@dataclass(slots=True, unsafe_hash=True)  # not frozen, as boxes
class TextCell:
    """Words of one row with no wide gap between them."""

    words: tuple[Word, ...]
    page: int
    box: Box
    text: str
    starts: tuple[int, ...]

    def place(self, start: int, end: int) -> Box:
        """The box of a part of the text; of half a word, the half by its share of letters."""
        if not start and end == len(self.text):
            return self.box
        boxes: list[Box] = []
        for word, at in zip(self.words, self.starts, strict=True):
            if at >= end:
                break
            until = at + len(word.text)
            if start < until:
                whole = start <= at and until <= end
                boxes.append(word.box if whole else _cut_box(word, start - at, end - at))
        return bounding_box(boxes) if boxes else self.box

    def part(self, start: int, end: int) -> "TextCell | None":
        """The words from character to character, as a cell of its own."""
        kept = [
            (word, at)
            for word, at in zip(self.words, self.starts, strict=True)
            if at >= start and at + len(word.text) <= end
        ]
        return make_cell([word for word, _ in kept], self.page) if kept else None


def _cut_box(word: Word, start: int, end: int) -> Box:
    """The box of some letters of a word, as if all were equally wide."""
    box, step = word.box, word.box.width / len(word.text)
    left, right = box.x0 + step * max(start, 0), box.x0 + step * min(end, len(word.text))
    return Box(left, box.y0, right, box.y1)


@dataclass(frozen=True)  # no slots: its text is asked for again and again, and kept
class TextRow:
    """Cells on one level of one page, from left to right."""

    cells: tuple[TextCell, ...]
    page: int
    index: int
    hidden: tuple[Word, ...] = ()

    @property
    def y(self) -> float:
        return self.cells[0].box.middle if self.cells else 0.0

    @property
    def height(self) -> float:
        return self.cells[0].box.height if self.cells else 0.0

    @cached_property
    def text(self) -> str:
        return "  ".join([cell.text for cell in self.cells])

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What a reader has found in it, by a name of its own, so that it is found once."""
        return {}


@dataclass(
    slots=True, unsafe_hash=True
)  # hundreds on a page: freezing them takes three times as long
class Phrase:
    """Words in a cell that could be a label: folded, and where they stand."""

    row: TextRow
    column: int
    cell: TextCell
    start: int
    end: int
    key: str
    first: bool

    @property
    def box(self) -> Box:
        return self.cell.place(self.start, self.end)

    @property
    def is_closed(self) -> bool:
        """Whether a colon or the end of the cell follows."""
        rest = self.cell.text[self.end - 1 :].lstrip()
        return len(rest) <= 1 or rest[0] == ":" or rest[1:].lstrip()[:1] in {":", ""}

    @property
    def is_translated(self) -> bool:
        """Whether the label follows once more, in another language."""
        return bool(_TWIN.match(self.cell.text, self.end))


@dataclass(frozen=True, slots=True)
class ValueSpot:
    """A text where a label's value may stand."""

    cell: TextCell
    start: int
    where: Where

    @property
    def text(self) -> str:
        return self.cell.text[self.start :]


@dataclass(frozen=True)  # no slots: its cells are asked for again and again, and kept
class TextSheet:
    """All rows of a document, its decimal mark, and whether its dates put the month first."""

    rows: tuple[TextRow, ...]
    sizes: tuple[tuple[float, float], ...]
    usual_height: float = 0.0
    mark: DecimalMark = ""
    month_first: bool = False

    @cached_property
    def cells(self) -> Sequence[tuple[TextRow, int, TextCell]]:
        return [(row, column, cell) for row in self.rows for column, cell in enumerate(row.cells)]

    @cached_property
    def row_of(self) -> Mapping[int, TextRow]:
        """The row of each cell, by the cell's identity."""
        return {id(cell): row for row, _, cell in self.cells}

    @cached_property
    def kept(self) -> dict[str, Any]:
        """The same of all rows."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what goes by identity: for another process the cells are others."""
        return {name: value for name, value in self.__dict__.items() if name != "row_of"}

    def height(self, page: int) -> float:
        return self.sizes[page - 1][1]

    def width(self, page: int) -> float:
        return self.sizes[page - 1][0]


def find_phrases(sheet: TextSheet, known: Container[str]) -> list[Phrase]:
    """All that is a label, longer ones before shorter ones at each place; `known` are the keys."""
    return [
        phrase
        for row, column, cell in sheet.cells
        if _LETTER.search(cell.text)
        for phrase in _cell_phrases(row, column, cell, known)
    ]


def _cell_phrases(
    row: TextRow, column: int, cell: TextCell, known: Container[str]
) -> Iterator[Phrase]:
    skip = _NUMBERING.match(cell.text)
    tokens = [match.span() for match in _TOKEN.finditer(cell.text, skip.end() if skip else 0)]
    for at, (start, _) in enumerate(tokens[:MAX_STARTS]):
        for end, key in reversed(_fold_words(cell.text, start, tokens[at : at + MAX_LABEL_WORDS])):
            if key in known:
                yield Phrase(row, column, cell, start, end, key, at == 0)


def _fold_words(text: str, start: int, tokens: list[tuple[int, int]]) -> list[tuple[int, str]]:
    """The folded words from a place on, one more each time, and where each ends."""
    keys: list[tuple[int, str]] = []
    key, last = "", start
    for _, end in tokens:
        key += squeeze(text[last:end])
        last = end
        inside = text[end : end + 1] in _ID_SIGNS and _INSIDE_ID.match(text, end)
        if len(key) > MAX_LABEL_CHARS or inside:
            break
        if key and text[end - 1] != "/":
            keys.append((end, key))
        if text[end - 1] == ":":
            break
    return keys


def match_labels(phrases: list[Phrase], pattern: re.Pattern[str]) -> list[Phrase]:
    """The longest phrase that matches from each place, none inside another."""
    found: list[Phrase] = []
    for phrase in [phrase for phrase in phrases if pattern.fullmatch(phrase.key)]:
        inside = found and found[-1].cell is phrase.cell and phrase.start < found[-1].end
        if not inside:
            found.append(phrase)
    return found


def find_spots(sheet: TextSheet, phrase: Phrase) -> Iterator[ValueSpot]:
    """Where the value of a label may stand, likeliest first."""
    twin = _TWIN.match(phrase.cell.text, phrase.end)
    end = twin.end() if twin else phrase.end
    lead = _LEAD.match(phrase.cell.text[end:])
    start = end + (lead.end() if lead else 0)
    if start < len(phrase.cell.text):
        yield ValueSpot(phrase.cell, start, Where.BEHIND)
    for cell in phrase.row.cells[phrase.column + 1 : phrase.column + 3]:
        lead = _LEAD.match(cell.text)
        begin = lead.end() if lead else 0
        if begin < len(cell.text):
            yield ValueSpot(cell, begin, Where.BESIDE)
            break
    yield from _level_spots(sheet, phrase)
    for count, (_, cell) in enumerate(find_below(sheet, phrase.row, phrase.box, REACH)):
        yield ValueSpot(cell, 0, Where.FAR_BELOW if count else Where.BELOW)
    yield from _offset_spot(sheet, phrase)
    if not phrase.first and phrase.end == len(phrase.cell.text):
        yield from _wrapped_spot(sheet, phrase)
    alone = phrase.first and phrase.end == len(phrase.cell.text)
    if alone and phrase.column == len(phrase.row.cells) - 1 > 0:
        yield ValueSpot(phrase.row.cells[-2], 0, Where.BEFORE)
    if alone:
        yield from _captioned_spot(sheet, phrase)


def _level_spots(sheet: TextSheet, phrase: Phrase) -> Iterator[ValueSpot]:
    """Smaller lines to the right of a large label, within its height: no row holds both."""
    at, box = phrase.row.index, phrase.cell.box
    alone = phrase.first and phrase.end == len(phrase.cell.text)
    if not alone or phrase.column < len(phrase.row.cells) - 1:
        return
    for row in (*sheet.rows[max(at - 1, 0) : at], *sheet.rows[at + 1 : at + 2]):
        for cell in row.cells:
            inside = box.y0 - 1 <= cell.box.y0 and cell.box.y1 <= box.y1 + 1
            if cell.page == phrase.cell.page and cell.box.x0 >= box.x1 and inside:
                yield ValueSpot(cell, 0, Where.BESIDE)


def _offset_spot(sheet: TextSheet, phrase: Phrase) -> Iterator[ValueSpot]:
    """The nearest cell to the right whose row lies a little higher or lower than the label's."""
    at, box = phrase.row.index, phrase.box
    if phrase.column < len(phrase.row.cells) - 1:
        return
    near = [
        cell
        for row in (*sheet.rows[max(at - 2, 0) : at], *sheet.rows[at + 1 : at + 3])
        for cell in row.cells
        if cell.page == phrase.cell.page
        and cell.box.x0 >= box.x1
        and abs(cell.box.middle - box.middle) < OFFSET * box.height
    ]
    if near:
        cell = min(near, key=lambda cell: (cell.box.x0, abs(cell.box.middle - box.middle)))
        lead = _LEAD.match(cell.text)
        yield ValueSpot(cell, lead.end() if lead else 0, Where.FAR_BELOW)


def _captioned_spot(sheet: TextSheet, phrase: Phrase) -> Iterator[ValueSpot]:
    """What stands right over a label that is set smaller, at its left edge."""
    at, box = phrase.row.index, phrase.box
    for row in reversed(sheet.rows[max(at - 2, 0) : at]):
        for cell in row.cells:
            over = 0 < box.y0 - cell.box.middle < CAPTION * cell.box.height
            larger = cell.box.height > SMALLER * box.height
            aligned = cell.page == phrase.cell.page and abs(cell.box.x0 - box.x0) < EDGE
            if over and larger and aligned:
                yield ValueSpot(cell, 0, Where.BEFORE)
                return


def _wrapped_spot(sheet: TextSheet, phrase: Phrase) -> Iterator[ValueSpot]:
    """The next line of a sentence that breaks behind the label."""
    for _, cell in find_below(sheet, phrase.row, phrase.cell.box)[:1]:
        if abs(cell.box.x0 - phrase.cell.box.x0) < EDGE:
            yield ValueSpot(cell, 0, Where.FAR_BELOW)


WIDE_SPACE: Final = 0.6


BELOW: Final = 2.2  # of the height: how far under a label its value may start
LOWER: Final = 0.4  # of the height: what is less far down stands beside it
MAX_ROWS_BELOW: Final = 15


def make_cell(words: Sequence[Word], page: int, *, wide: str = "  ") -> TextCell:
    """A cell; a space too wide to stand inside a number is written as `wide`."""
    text, starts = "", list[int]()
    for index, word in enumerate(words):
        if index:
            gap = word.box.x0 - words[index - 1].box.x1
            text += wide if gap > WIDE_SPACE * word.box.height else " "
        starts.append(len(text))
        text += word.text
    box = bounding_box([word.box for word in words])
    return TextCell(tuple(words), page, box, text, tuple(starts))


def find_below(
    sheet: TextSheet, row: TextRow, box: Box, reach: float = BELOW
) -> list[tuple[TextRow, TextCell]]:
    """Cells under a box on its page, nearest first, that share some of its width."""
    found: list[tuple[TextRow, TextCell]] = []
    for other in sheet.rows[row.index + 1 : row.index + 1 + MAX_ROWS_BELOW]:
        if other.page != row.page or other.y - box.middle > reach * box.height:
            break
        found += [(other, cell) for cell in cells_under(other.cells, box, reach)]
    return found


C = TypeVar("C", TextCell, Line)


def cells_under(cells: Iterable[C], box: Box, reach: float) -> Iterator[C]:
    """Those cells of a row that stand under a box, `reach` of its height away at most."""
    for cell in cells:
        down = cell.box.middle - box.middle
        near = LOWER * box.height < down <= reach * box.height
        if near and cell.box.shares_width(box):
            yield cell
