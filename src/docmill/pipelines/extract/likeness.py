"""How like a label on a page is to a field somebody asks for: by its words, not its letters.

Words stand for what they mean (`no.`, `nr` and `#` for number, `vendor` for seller). A word in the
label that makes another thing of it, such as the date in `invoice date`, counts against it.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from docmill.core.asked import Asked, Kind
from docmill.pipelines.extract.meanings import meanings
from docmill.reading import numbers

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
_IMPLIED: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.TEXT: frozenset({"name"}),
    Kind.DATE: frozenset({"date"}),
    Kind.AMOUNT: frozenset({"amount", "price", "currency"}),
    Kind.NUMBER: frozenset({"number", "amount"}),
    Kind.INTEGER: frozenset({"number", "amount"}),
    Kind.ID: frozenset({"number", "reference"}),
    Kind.CURRENCY: frozenset({"currency"}),
}


def alike(asked: Asked, label: str) -> float:
    """From 0 to 1."""
    words = meanings(label)
    if not words or len(words) > LONGEST:
        return 0
    names = {asked.name, asked.title} - {""}
    implied = _IMPLIED.get(asked.kind, frozenset())
    best = max(_likeness(meanings(name), words, implied) for name in names)
    return max(best, _described(asked, words, implied))


def _likeness(asked: Sequence[str], label: Sequence[str], implied: frozenset[str]) -> float:
    pairs = [max((_same(word, other), other) for other in label) for word in asked]
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
    harmless = word in _HARMLESS or numbers.currency(word)
    return 0 if harmless else UNKNOWN


def _described(asked: Asked, label: Sequence[str], implied: frozenset[str]) -> float:
    """A label all of whose words are in the description, and not only such as `number`."""
    known = {*meanings(asked.description), *meanings(asked.name), *implied}
    telling = any(_weight(word) == 1 for word in label)
    return DESCRIBED * bool(asked.description and telling and known.issuperset(label))


def _weight(word: str) -> float:
    return _LIGHT.get(word, 1.0)


@lru_cache(maxsize=4096)
def _same(one: str, other: str) -> float:
    if one == other:
        return 1
    if frozenset({one, other}) in _KIN:
        return RELATED
    if min(len(one), len(other)) < 3 or one[0] != other[0]:
        return 0
    if one.startswith(other) or other.startswith(one):
        return ABBREVIATED
    return MISSPELT * (SequenceMatcher(None, one, other).ratio() >= 0.85)
