"""How like a label on a page is to a field somebody asks for: by its words, not its letters.

Words stand for what they mean (`no.`, `nr` and `#` for number, `vendor` for seller); they are in
`reading/lexicon`. A compound is what its parts are: Rechnungsnummer is of an invoice and a number.
A word that makes another thing of a label, such as the date in `invoice date`, counts against it.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from docmill.core.field_request import RequestedField
from docmill.core.fields import ValueKind
from docmill.reading import numbers
from docmill.reading.labels import fold_accents
from docmill.reading.lexicon import lexicon

SHORTEST: Final = 3  # letters of a part of a compound
_WORDS: Final = lexicon()
_MEANS: Final[Mapping[str, str]] = {
    fold_accents(word): meaning for word, meaning in _WORDS.words("word").items()
}
_THINGS: Final = frozenset(_MEANS.values())
_PARTIES: Final = frozenset({"seller", "buyer"})
_PHRASES: Final = sorted(_WORDS.words("phrase").items(), key=lambda pair: -len(pair[0]))
_FILL: Final = frozenset(_WORDS.phrases("filler", "filler"))
_JOINTS: Final = ("", "s", "n", "en", "es")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])(?<!Mw(?=St))")
_SHARE: Final = re.compile(r"\d+(?:[.,]\d+)?\s*%")  # VAT 20%
_PARTS: Final = re.compile(r"[^\W_]+|[#%]")


@lru_cache(maxsize=4096)
def find_meanings(text: str) -> tuple[str, ...]:
    """What the words of a name or label stand for; `invoiceNo` has two of them."""
    plain = " ".join(_PARTS.findall(fold_accents(_SHARE.sub(" ", _CAMEL.sub(" ", text)))))
    padded = f" {plain} "
    for phrase, word in _PHRASES:
        padded = padded.replace(f" {phrase} ", f" {word} ")
    words = [word for word in padded.split() if word not in _FILL and not word.isdecimal()]
    stand_for = (part for word in words or padded.split() for part in _find_meaning(word))
    return tuple(dict.fromkeys(stand_for))


def is_label_like(text: str) -> bool:
    """Whether text names a thing of a form, so that it is hardly a value: Number, Bill to."""
    words = find_meanings(text)
    return bool(words) and _THINGS.issuperset(words) and not _PARTIES.issuperset(words)


@lru_cache(maxsize=4096)
def _find_meaning(word: str) -> tuple[str, ...]:
    one = word.removesuffix("ies") + "y" if word.endswith("ies") else word.removesuffix("s")
    known = _MEANS.get(word) or _MEANS.get(one)
    return (known,) if known else _split_compound(word) or (word,)


def _split_compound(word: str) -> tuple[str, ...]:
    """What the two parts of a word stand for, if both are known."""
    for at in range(len(word) - SHORTEST, SHORTEST - 1, -1):
        last = _MEANS.get(word[at:])
        for joint in _JOINTS if last else ():
            first = _MEANS.get(word[:at].removesuffix(joint)) if word[:at].endswith(joint) else None
            if first and last:
                return first, last
    return ()


ALIKE: Final = 0.62  # labels less like it are not looked at
ABBREVIATED: Final = 0.85
MISSPELT: Final = 0.8
RELATED: Final = 0.8
BARE: Final = 0.66  # `Date` alone is the document's own
DESCRIBED: Final = 0.85  # of words that only the description has
CHANGED: Final = 0.3  # a word that makes another thing of it
UNKNOWN: Final = 0.25  # a word that may
FULLY: Final = 0.7  # how much of the likeness is that all asked words are in the label
LONGEST: Final = 12

_KIN: Final = frozenset(
    frozenset(pair)
    for pair in (
        ("total", "owed"), ("due", "owed"), ("issue", "invoice"), ("total", "gross"),
        ("document", "invoice"),
    )
)  # fmt: skip
_ITSELF: Final = frozenset({"contract", "document", "invoice", "issue", "letter", "receipt"})
_LIGHT: Final = {
    "number": 0.5, "date": 0.5, "amount": 0.5, "name": 0.5, "payment": 0.3, "code": 0.5,
}  # fmt: skip
_CHANGING: Final = frozenset(
    {
        "account", "address", "birth", "currency", "date", "delivery", "description", "discount",
        "email", "name", "net", "number", "percent", "period", "phone", "price", "quantity",
        "signature", "tax",
    }
)  # fmt: skip
_HARMLESS: Final = frozenset(
    {"due", "invoice", "amount", "payment", "final", "all", "overall", "owed", "total", "gross"}
)
_IMPLIED: Final[Mapping[ValueKind, frozenset[str]]] = {
    ValueKind.TEXT: frozenset({"name"}),
    ValueKind.DATE: frozenset({"date"}),
    ValueKind.AMOUNT: frozenset({"amount", "price", "currency"}),
    ValueKind.NUMBER: frozenset({"number", "amount"}),
    ValueKind.INTEGER: frozenset({"number", "amount"}),
    ValueKind.ID: frozenset({"number", "reference"}),
    ValueKind.CURRENCY: frozenset({"currency"}),
}


def rate_label(asked: RequestedField, label: str) -> float:
    """From 0 to 1."""
    words = find_meanings(label)
    if not words or len(words) > LONGEST:
        return 0
    names = {asked.name, asked.title} - {""}
    implied = _IMPLIED.get(asked.kind, frozenset())
    best = max(_rate_words(find_meanings(name), words, implied) for name in names)
    return max(best, _rate_description(asked, words, implied))


def _rate_words(asked: Sequence[str], label: Sequence[str], implied: frozenset[str]) -> float:
    pairs = [max((_rate_pair(word, other), other) for other in label) for word in asked]
    met = {other for same, other in pairs if same}
    whole = sum(_weight(word) for word in asked)
    recall = sum(_weight(w) * same for w, (same, _) in zip(asked, pairs, strict=True)) / whole
    strange = [word for word in label if word not in met and word not in implied]
    beside = sum(_weight(word) for word in strange)
    precision = whole / (whole + beside) if met else 0
    changed = sum(CHANGED if word in _CHANGING else _doubt(word) for word in strange)
    bare = BARE * (met == {*label} == {"date"} and {*asked} - met <= _ITSELF)
    return max(bare, FULLY * recall + (1 - FULLY) * precision * bool(recall) - changed)


def _doubt(word: str) -> float:
    """Total due and total EUR are totals; total weight may be none."""
    harmless = word in _HARMLESS or numbers.currency_code(word)
    return 0 if harmless else UNKNOWN


def _rate_description(
    asked: RequestedField, label: Sequence[str], implied: frozenset[str]
) -> float:
    """A label all of whose words are in the description, and not only such as `number`."""
    known = {*find_meanings(asked.description), *find_meanings(asked.name), *implied}
    telling = any(_weight(word) == 1 for word in label)
    return DESCRIBED * bool(asked.description and telling and known.issuperset(label))


def _weight(word: str) -> float:
    return _LIGHT.get(word, 1.0)


@lru_cache(maxsize=4096)
def _rate_pair(one: str, other: str) -> float:
    if one == other:
        return 1
    if frozenset({one, other}) in _KIN:
        return RELATED
    if min(len(one), len(other)) < 3 or one[0] != other[0]:
        return 0
    if one.startswith(other) or other.startswith(one):
        return ABBREVIATED
    return MISSPELT * (SequenceMatcher(None, one, other).ratio() >= 0.85)
