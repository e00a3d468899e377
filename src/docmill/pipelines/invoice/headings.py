"""What a table calls its columns: known headings first, else what their words are made of."""

import re
from functools import lru_cache
from typing import Final

from docmill.pipelines.invoice.lexicon import CURRENCY_MARKS, HEADINGS, fold
from docmill.reading.dates import folded

MAX_WORDS: Final = 6
MAX_CHARS: Final = 45
_BRACKETS: Final = re.compile(r"\([^)]*\)")
_SPLIT: Final = re.compile(r"[/|,\n]|\s-\s")
_SIGNS: Final = re.compile(r"[^a-z@%#]+")

_PRICE: Final = re.compile(
    r"preis|price|harga|prix|preci|prezz|prijs|\bp ?u\b|\be ?p\b|\brate\b|tarif|\bcost|\bsatz\b"
    r"|@|\bp v? ?u"
)
_UNIT: Final = re.compile(
    r"\bunit|einzel|satuan|\bsat\b|\beach\b|\bper\b|\bpro\b|stuck|\bstk\b|einh|\buni?d|@|\be p"
    r"|\bp u\b|\bpu\b|\bp v u\b|eenheid|\buom\b|\bu m\b"
)
_SUM: Final = re.compile(
    r"total|summe|\bsum|betrag|jumlah|\bjml\b|amount|montant|import[eo]|gesamt|nilai|\bwert\b"
    r"|value|extended|bedrag|\bvalor\b|\bg ?p\b"
)
_COUNT: Final = re.compile(
    r"\bqty|\bqte|quant|kuant|meng|\bmge\b|anzahl|\banz\b|banyak|\bvol(?:ume)?\b|\bcant|\bunits\b"
    r"|\buds\b|unidades|hours|\bhrs\b|stunden|\bstd\b|\bnb\b|nombre|heures|horas|aantal|\bstk\b"
    r"|\bpcs\b|(?:jumlah|jml|number|no) (?:of )?(?:unit|barang|pcs|item)"
)
_OFF: Final = re.compile(
    r"\bdis[ck]|diskon|rabatt|\brab\b|remise|\brem\b|potongan|\bpot\b|descuent|\bdto\b|nachlass"
    r"|\boff\b|korting|scont"
)
_TAX: Final = re.compile(
    r"mwst|\bust\b|\bvat\b|\btva\b|\biva\b|\bppn\b|\btax|\bgst\b|pajak|steuer|\bbtw\b"
)
_WITHOUT: Final = re.compile(
    r"exc|hors|\bht\b|ohne|netto|\bnet\b|before|sin |sebelum|incl|inkl|ttc|brut"
)
_GROSS: Final = re.compile(r"incl|inkl|ttc|brut|gross|termasuk")
_CODE: Final = re.compile(
    r"\bkode|\bcode|codi[gc]|\bref|\bsku\b|\bpart n|artikeln|\bart nr|\bbest nr|\bitem (?:no|code)"
)
_WORDS: Final = re.compile(
    r"desc|bezeichn|beschreib|desig|libell|uraian|keterangan|rincian|\bnama|barang|jasa|produ"
    r"|\bitems?\b|articl|artikel|articul|leistung|servi|prestat|concept|detail|detalle|particular|activit"
    r"|pekerjaan|goods|omschr|jenis"
)


@lru_cache(maxsize=8192)
def heading(text: str) -> str:
    """The kind of a table column with this heading; the empty string where it is none."""
    return exact(text) or _bilingual(text) or _made_of(text)


def exact(text: str) -> str:
    """The kind of a heading in one language, its currency and brackets left out."""
    bare = CURRENCY_MARKS.sub("", text)
    return HEADINGS.get(fold(bare)) or HEADINGS.get(fold(_BRACKETS.sub("", bare)), "")


def _bilingual(text: str) -> str:
    """The kind that the halves of `Description / Uraian` agree on."""
    parts = [part for part in _SPLIT.split(text) if fold(part)]
    known = {kind for part in parts if (kind := HEADINGS.get(fold(part), ""))}
    if len(parts) < 2 or not known:
        return ""
    return "description" if "description" in known else known.pop() if len(known) == 1 else ""


def _made_of(text: str) -> str:
    """The kind that the stems of a short text's words make: `Harga per unit`, `Positionssumme`."""
    if len(text) > MAX_CHARS or len(text.split()) > MAX_WORDS or any(c.isdigit() for c in text):
        return ""
    words = _SIGNS.sub(" ", folded(CURRENCY_MARKS.sub("", text)).replace("ß", "ss")).strip()
    if _OFF.search(words) or words in {"desc %", "% desc"}:
        return "discount"
    if _TAX.search(words) and not _WITHOUT.search(words):
        return "tax_amount" if _SUM.search(words) else "tax_rate"
    return _money(words) or _wordy(words)


def _money(words: str) -> str:
    if _COUNT.search(words) and not _PRICE.search(words):
        return "quantity"
    summed = bool(_SUM.search(words))
    if _PRICE.search(words) and not (summed and not _UNIT.search(words)):
        return "unit_price"
    if summed:
        return "gross" if _GROSS.search(words) else "amount"
    return ""


def _wordy(words: str) -> str:
    for kind, stems in (("code", _CODE), ("description", _WORDS), ("unit", _UNIT)):
        if stems.search(words):
            return kind
    return ""
