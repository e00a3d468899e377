"""What a table calls its columns: known headings first, else what their words are made of."""

import re
from functools import lru_cache
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.invoices.reader.lexicon import CURRENCY_MARKS, HEADINGS
from docmill.reading import labels
from docmill.reading.labels import squeeze
from docmill.reading.screens import make_screen

MAX_HEADING_WORDS: Final = 6
MAX_HEADING_CHARS: Final = 45
MAX_CURRENCY: Final = 3  # letters of a currency's code
_BRACKETS: Final = re.compile(r"\([^)]*\)")
_LETTERS: Final = re.compile(r"[A-Za-z#@]")  # two signs are headings as well
PIECES: Final = re.compile(  # `Price per 100`
    r"(?:\b(?:per|je|pro|les|par|pour|por|cada|ogni|each|de|al)\s|/\s?|\bp\.\s?)(1(?:00|[.,]?000))\b",
    re.IGNORECASE,
)
_SPLIT: Final = re.compile(r"[/|,\n]|\s-\s")

_PRICE: Final = lexicon.stem_pattern("price")
_UNIT: Final = lexicon.stem_pattern("unit")
_SUM: Final = lexicon.stem_pattern("sum")
_COUNT: Final = lexicon.stem_pattern("count")
_OFF: Final = lexicon.stem_pattern("discount")
_TAX: Final = lexicon.stem_pattern("tax")
_WITHOUT: Final = lexicon.stem_pattern("without")
_GROSS: Final = lexicon.stem_pattern("gross")
_CODE: Final = lexicon.stem_pattern("code")
_WORDS: Final = lexicon.stem_pattern("words")
_ANY_STEM: Final = make_screen(
    map(lexicon.stem_words, ("price", "unit", "sum", "count", "discount", "tax", "code", "words"))
)


@lru_cache(maxsize=8192)
def heading_kind(text: str) -> str:
    """The kind of a table column with this heading; the empty string where it is none."""
    if text.isascii() and not _LETTERS.search(text):
        return ""
    return exact_kind(text) or _bilingual_kind(text) or _kind_by_stems(text)


@lru_cache(maxsize=8192)
def exact_kind(text: str) -> str:
    """The kind of a heading in one language, its currency and brackets left out."""
    bare = _drop_currency(text)
    known = HEADINGS.get(squeeze(bare), "")
    if known or "(" not in bare:
        return known
    return HEADINGS.get(squeeze(_BRACKETS.sub("", bare)), "")


def _drop_currency(text: str) -> str:
    """A text without currencies; a longer word of nothing but letters is none."""
    return text if len(text) > MAX_CURRENCY and text.isalpha() else CURRENCY_MARKS.sub("", text)


def _bilingual_kind(text: str) -> str:
    """The kind that the halves of `Description / Uraian` agree on."""
    if not _SPLIT.search(text):
        return ""
    parts = [part for part in _SPLIT.split(text) if squeeze(part)]
    known = {kind for part in parts if (kind := HEADINGS.get(squeeze(part), ""))}
    if len(parts) < 2 or not known:
        return ""
    return "description" if "description" in known else known.pop() if len(known) == 1 else ""


def _kind_by_stems(text: str) -> str:
    """The kind that the stems of a short text's words make: `Harga per unit`, `Positionssumme`.

    Of figures only those of a price for several pieces may be among them.
    """
    text = PIECES.sub("", text)
    if (
        len(text) > MAX_HEADING_CHARS
        or len(text.split()) > MAX_HEADING_WORDS
        or any(map(str.isdigit, text))
    ):
        return ""
    words = labels.fold(_drop_currency(text), "@%#")
    if not _ANY_STEM.search(words):
        return ""
    if _OFF.search(words):
        return "discount"
    if _TAX.search(words) and not _WITHOUT.search(words):
        return "tax_amount" if _SUM.search(words) else "tax_rate"
    return _money_kind(words) or _word_kind(words)


def _money_kind(words: str) -> str:
    if _COUNT.search(words) and not _PRICE.search(words):
        return "quantity"
    summed = bool(_SUM.search(words))
    if _PRICE.search(words) and not (summed and not _UNIT.search(words)):
        return "unit_price"
    if summed:
        return "gross" if _GROSS.search(words) else "amount"
    return ""


def _word_kind(words: str) -> str:
    for kind, stems in (("code", _CODE), ("description", _WORDS), ("unit", _UNIT)):
        if stems.search(words):
            return kind
    return ""
