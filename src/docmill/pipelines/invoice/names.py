"""Names of companies and people among other words on a page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from docmill.pipelines.invoice import lexicon
from docmill.pipelines.invoice.headings import exact
from docmill.pipelines.invoice.layout import Cell, Row, Sheet
from docmill.pipelines.invoice.roles import role
from docmill.reading import dates
from docmill.reading.companies import COMPANY
from docmill.reading.pages import Box

MAX_CHARS: Final = 70
ROWS: Final = 10
REACH: Final = 13.0
LINKED: Final = 0.45
MAILED: Final = 0.3
_PARTS: Final = re.compile(
    r"\s*(?:\bau capital\b|[·•|●∙◦▪]|\s[–—-]\s|\s{2,}(?=\S+\s?\d)"
    r"|,\s(?!(?:Tbk|Ltd|Inc|LLC|S\.?A|S\.?L|GmbH|Lda)\b)(?=[^,]*\d))\s*"
)
_FIGURES: Final = re.compile(r"\d")
_PLACE: Final = re.compile(r"(?:[A-Z]{1,2}-)?\d{4,6}\b|.*\s\d{1,4}\s?[a-zA-Z]?$")
_LABEL: Final = re.compile(
    r"(?:(?:a/c |account )?name|nama|nom|company|kepada|yth\.?|to|client|atas nama|a\.?n\.?)\s?:\s*"
    r"|(?:a/n|a\.n\.|atas nama|an\.|kepada yth\.?|yth\.?)\s+"
    r"|(?:invoice|bill|facture|rechnung) (?:from|by|de|von)\s+"
    r"|(?:direksi|direktur(?: utama)?|pimpinan)\s+(?=(?:PT|CV|UD)\b)",
    re.IGNORECASE,
)
_NOT_NAME: Final = re.compile(
    r"(?:page|seite|hal|date|datum|tanggal|invoice|rechnung|facture|faktur|tax invoice|original"
    r"|copy|no\b|nr\b|attn|up\b|u\.p|address|alamat|anschrift|adresse|tel|phone|fax|email|e-mail"
    r"|npwp|vat|total|num(?:ber|mer)|details?|summary|receipt|payment|bill|ship|deliver|kepada|yth"
    r"|dear|sehr|to\b|from\b|gln|sire[nt]|logo|stylesheet|kunden-?nr|kundennummer|customer|globale"
    r"|purchase|order|po\b|ref|your|our|ihre|unsere|wir\b|terms|currency|wahrung|währung|id\b|duns"
    r"|contact|kontakt|account|bank|iban|swift|subject|betreff|status|powered|www|http|document"
    r"|dokumen|periode?|due|jatuh|termin|website|code|sitz|gesch[äa]ftsf|amtsgericht|(?:herrn?"
    r"|frau|familie|mr|mrs|bapak|ibu|mme|m|company|perusahaan|cashier|kasir|guest)\.?$|steuer|ust|bic|hrb|firma$|an$|informat|zahl|liefer|thank"
    r"|note|please|bitte|kwitansi|terbilang|deskripsi|keterangan|bukti|surat|pembayaran|transfer"
    r"|jl\b|jalan|gedung|rt\b|komplek|ruko|vielen|c/o|postfach|handels|belegs|art-nr|positions"
    r"|umsatz|nos\b|vos\b|votre|dès|notes?\b|service|germany|deutschland|france|indonesia|united"
    r"|usa\b|españa|austria|schweiz|hong kong|ireland|australia|représentant|repr|r.gistre"
    r"|conditions|description|quantit|reg\b|capital|s\.?a\.?r\.?l\.? au)",
    re.IGNORECASE,
)
_NOT_COMPANY: Final = re.compile(
    r"(?:bill|ship|sold|invoice|kepada|from|to|geschäftsf|vertreten|licensed|bank|firma|firm|herr"
    r"|an|c/o|company$)\b",
    re.IGNORECASE,
)
_POSTCODE: Final = re.compile(r"(?<!\d)\d{4,6}$")
_STREET: Final = re.compile(
    r"[^\d]*(?:stra(?:ss|ß)e|str\.|weg|allee|platz|rue|street|avenue|road|ufer)\s*(?:\d|$)",
    re.IGNORECASE,
)
_DOMAIN: Final = re.compile(
    r"(?:@|www\.|https?://(?:www\.)?)([a-z0-9.-]+)\.[a-z]{2,}", re.IGNORECASE
)
_SHARED: Final = frozenset(
    {"gmail", "yahoo", "outlook", "hotmail", "gmx", "web", "example", "icloud", "tonline"}
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name that may be a party's, and where it stands."""

    text: str
    cell: Cell
    start: int
    score: float


def parts_of(text: str) -> list[str]:
    """A line cut at bullets, bars and dashes: `Firm · Street 1 · Town`."""
    parts = [part.strip(" ,") for part in _PARTS.split(text) if part.strip(" ,")] or [text]
    first, comma, rest = parts[0].partition(", ")
    if comma and _ends_company(first) and not _ends_company(rest):
        return [first, rest, *parts[1:]]
    return parts


def _ends_company(text: str) -> bool:
    """Whether a company's form ends a text, as `GmbH` and `Ltd` do."""
    return any(match.end() == len(text) for match in COMPANY.finditer(text))


def named(cell: Cell, start: int, score: float) -> Name:
    """The name at a place: without its label, without the address behind it."""
    label = _LABEL.match(cell.text[start:])
    begin = start + (label.end() if label else 0)
    begin += len(cell.text[begin:]) - len(cell.text[begin:].lstrip(" :"))
    return Name(parts_of(cell.text[begin:])[0], cell, begin, score)


def is_name(text: str) -> bool:
    """Whether words can be a name: letters, not too many, no label, heading, street or date."""
    label = _LABEL.match(text)
    parts = parts_of((text[label.end() :] if label else text).lstrip(" :"))
    bare = parts[0]
    letters = sum(char.isalpha() for char in bare)
    if letters < 3 or letters * 2 < len(bare.replace(" ", "")) or len(bare) > MAX_CHARS:
        return False
    company = bool(COMPANY.search(bare))
    if _NOT_NAME.match(bare) and not (company and not _NOT_COMPANY.match(bare)):
        return False
    if _labelling(bare) or _POSTCODE.search(bare):
        return False
    if not company and (_PLACE.match(bare) or (len(parts) == 2 and _FIGURES.search(parts[1]))):
        return False
    if set(bare) & set("@:") or _STREET.match(text) or bare[0].isdigit():
        return False
    if bare.endswith((".", ":", "!", "?")) and not company:
        return False
    worded = bool(exact(bare)) or (role(bare)[0] and not company)
    return not worded and len(bare.split()) <= 9 and not dates.find(text)


def _labelling(text: str) -> bool:
    """Whether the words only say that a name follows, in one language or two."""
    return any(_label(part) for part in text.split(" / "))


def _label(text: str) -> bool:
    key = lexicon.fold(text)
    patterns = (
        lexicon.BUYER,
        lexicon.SELLER,
        lexicon.SHIP,
        lexicon.HOLDER,
        lexicon.NUMBER,
        lexicon.DATE,
    )
    if any(pattern.fullmatch(key) for pattern in (*patterns, lexicon.DUE, lexicon.NUMBER_TITLE)):
        return True
    few = len(text.split()) < 4 and not COMPANY.search(text)
    others = (lexicon.OTHER_NUMBER, lexicon.DATE_LOOSE, lexicon.DATE_PLAIN, lexicon.TERMS)
    return few and any(pattern.fullmatch(key) for pattern in others)


def prose(text: str) -> bool:
    """Whether words read like a sentence or a slogan: most of them begin small."""
    words = [word for word in text.split() if word[0].isalpha()]
    return 2 * sum(word[0].islower() for word in words) >= max(len(words), 1)


def lines_below(sheet: Sheet, row: Row, box: Box) -> Iterator[tuple[Row, int, Cell]]:
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


def domains(sheet: Sheet) -> dict[str, float]:
    """The names of web and mail addresses on the sheet, and what each says for its owner."""
    found: dict[str, float] = {}
    for row in sheet.rows:
        for match in _DOMAIN.finditer(row.text):
            label = lexicon.fold(max(match[1].split("."), key=len))
            if len(label) > 3 and label not in _SHARED:
                worth = MAILED if match[0][0] == "@" else LINKED
                found[label] = max(worth, found.get(label, 0.0))
    return found


def known_by(name: str, domain: str) -> bool:
    """Whether a mail or web address carries the name."""
    key = lexicon.fold(COMPANY.sub("", name))
    return len(key) > 3 and (key in domain or (domain in key and len(domain) > 4))
