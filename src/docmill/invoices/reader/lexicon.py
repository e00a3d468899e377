"""Patterns of the words that invoices use; the words are in `reading/lexicon`.

Labels are compared squeezed: `Invoice No.`, `InvoiceNo` and `INVOICE-NO` are one.
"""

import re
from collections.abc import Iterable
from typing import Final

from docmill.reading.label_sets import LabelSet, split_choices
from docmill.reading.labels import squeeze
from docmill.reading.lexicon import join_choices, lexicon
from docmill.reading.screens import quicken

_WORDS: Final = lexicon()
CURRENCY_MARKS: Final = re.compile(
    r"\((?:eur|usd|idr|rp|gbp|€|\$)[^)]*\)|[€$£]|(?<!\w)(?:Rp|IDR|EUR|USD)\.?(?!\w)", re.IGNORECASE
)


def label_pattern(concept: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """A squeezed label, from end to end."""
    words = _WORDS.pattern("invoice", concept, squeezed=True)
    return re.compile(f"{before}{words}{after}")


def amount_words(concept: str) -> str:
    """What the label of an amount may say, folded."""
    return _WORDS.pattern("invoice amount", concept)


def join_words(concepts: Iterable[str]) -> str:
    """What the labels of any of some amounts may say."""
    words = (word for concept in concepts for word in split_choices(amount_words(concept)))
    return join_choices(list(dict.fromkeys(words)))


def amount_pattern(concept: str) -> re.Pattern[str]:
    """The same as whole words, to find whether and where one begins, not where it ends."""
    return re.compile(rf"\b{quicken(amount_words(concept))}\b")


def stem_words(concept: str) -> str:
    """Words or parts of words in the folded heading of a column."""
    return _WORDS.pattern("invoice stem", concept)


def stem_pattern(concept: str) -> re.Pattern[str]:
    """The same as whole words, to find whether one stands in a heading."""
    return re.compile(rf"(?<!\w){quicken(stem_words(concept))}(?!\w)")


def printed_words(concept: str) -> str:
    """Words about names and addresses, as they are printed."""
    return _WORDS.pattern("invoice name", concept)


def printed_pattern(concept: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """The same in any case, with what stands around them."""
    return re.compile(f"{before}{printed_words(concept)}{after}", re.IGNORECASE)


def squeezed_words(concept: str) -> frozenset[str]:
    """Words about names as labels are compared, to look one up."""
    return frozenset(squeeze(word) for word in _WORDS.phrases("invoice name", concept))


_CAPITAL: Final = re.compile(r"\\.|[^\W\d_]")


def lowered_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern for texts in small letters: several times as fast as one in any case."""
    lower = _CAPITAL.sub(
        lambda match: match[0] if match[0][0] == "\\" else match[0].lower(), pattern
    )
    return re.compile(lower)


def _prose(concept: str, edge: str = r"\b") -> re.Pattern[str]:
    words = _WORDS.pattern("invoice", concept)
    return re.compile(f"{edge}{words}{edge}", re.IGNORECASE)


NUMBER: Final = label_pattern("number")
NUMBER_RECEIPT: Final = label_pattern("number_receipt")
NUMBER_TITLE: Final = label_pattern("number_title")
NUMBER_WEAK: Final = label_pattern("number_weak")
NUMBER_DOCUMENT: Final = label_pattern("number_document")
NUMBER_SERIAL: Final = label_pattern("number_serial")
NOT_NUMBER: Final = label_pattern("not_number", ".*", ".*")
OTHER_NUMBER: Final = label_pattern("other_number")
DATE: Final = label_pattern("date")
DATE_LOOSE: Final = label_pattern("date_inside", ".{0,12}", ".{0,8}")
DATE_PLAIN: Final = label_pattern("date_alone")
ORDER_DATE: Final = label_pattern("order_date")
NOT_DATE: Final = label_pattern("not_date", ".*", ".*|po")
DUE: Final = label_pattern("due")
DUE_PROSE: Final = _prose("pay")
DUE_LOWERED: Final = lowered_pattern(DUE_PROSE.pattern)
BY: Final = _prose("by")
NOT_DUE: Final = _prose("not_due", "")
LATE: Final = _prose("late", "")
OF_DAY: Final = re.compile(rf"{_prose('of_day').pattern}\.?\s*$", re.IGNORECASE)
DAYS: Final = re.compile(
    rf"(?<![\d.,%-])(\d{{1,3}})\s?(?:\([^)]{{3,30}}\)\s?)?{_prose('days').pattern}", re.IGNORECASE
)
MONTH_END: Final = _prose("month_end")
TERMS: Final = label_pattern("terms")
TERMS_PROSE: Final = _prose("terms_prose")
CURRENCY: Final = label_pattern("currency")
BUYER: Final = label_pattern("buyer")
SELLER: Final = label_pattern("seller")
SALESMAN: Final = label_pattern("salesman")
SHIP: Final = label_pattern("ship")
GOODS_PARTY: Final = label_pattern("goods_party")
HOLDER: Final = label_pattern("holder")
OWNER: Final = label_pattern("owner")
TAX_ID: Final = label_pattern("tax_id")
NAMING: Final = LabelSet(
    (BUYER, SELLER, SHIP, HOLDER, OWNER, NUMBER, DATE, DUE, NUMBER_TITLE, TAX_ID)
)
NAMING_SHORT: Final = LabelSet((OTHER_NUMBER, DATE_LOOSE, DATE_PLAIN, TERMS))
DUE_LABELS: Final = LabelSet((DUE,))
PARTIES: Final = LabelSet((BUYER, SELLER))
ENDS_PARTY: Final = LabelSet((SHIP, BUYER, GOODS_PARTY))
ENDS_ADDRESS: Final = LabelSet((NUMBER, OTHER_NUMBER, DATE, DUE, TERMS))
LABELS: Final = LabelSet(  # every pattern that `match_labels` is given: else it finds nothing
    (
        *(NUMBER, NUMBER_TITLE, NUMBER_WEAK, NUMBER_SERIAL),
        *(DATE, DATE_PLAIN, DATE_LOOSE, DUE, TERMS),
        *(CURRENCY, SELLER, BUYER, HOLDER, OWNER, TAX_ID),
    )
)
NAME_COLON: Final = printed_pattern("label_colon", "", r"\s?:")
FOR_ATTENTION: Final = printed_pattern("for_attention", "", r"\s?:?\s+(?=\S)")
ATTENTION: Final = printed_pattern("attention", "", r"\s?:?\s+(?=\S)")
HEADINGS: Final = _WORDS.words("invoice column")
COURTESIES: Final = frozenset(_WORDS.phrases("invoice name", "courtesy"))
