"""Which language a text is in, by its smallest words."""

import importlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

ENGLISH: Final = "en"
NAMES: Final[Mapping[str, str]] = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "id": "Indonesian",
    "sv": "Swedish",
    "da": "Danish",
    "nb": "Norwegian",
    "fi": "Finnish",
    "pl": "Polish",
    "cs": "Czech",
    "tr": "Turkish",
    "ro": "Romanian",
    "hu": "Hungarian",
    "ru": "Russian",
}
SMALL: Final[Mapping[str, frozenset[str]]] = {
    code: frozenset(words.split())
    for code, _, words in (
        line.partition("\t")
        for line in (files("docmill.pipelines.study") / "data" / "small.tsv")
        .read_text("utf-8")
        .splitlines()
    )
}
CAPITAL_NOUNS: Final = frozenset({"de"})
SURE: Final = 0.08  # of a text's words are of its language's small ones, at the very least


def detect(words: Iterable[str]) -> tuple[str, float]:
    """The language's code and how much of the text speaks for it; "" for none of those we know."""
    counts = Counter(words)
    total = counts.total() or 1
    shares = {code: sum(counts[word] for word in small) / total for code, small in SMALL.items()}
    best = max(shares, key=lambda code: shares[code])
    return (best, round(shares[best], 2)) if shares[best] >= SURE else ("", 0.0)


@cache
def _lemmatizer() -> Any:
    # A library of dictionaries, wanted only for texts that are not English.
    return importlib.import_module("simplemma")


def lemma(word: str, language: str) -> str:
    """The dictionary form of a word in a language other than English."""
    return _lemmatizer().lemmatize(word, lang=language, greedy=False)


def known(word: str, language: str) -> bool:
    return _lemmatizer().is_known(word, lang=language)
