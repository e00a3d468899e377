"""The files of WordNet 3.0 and of an English tagger, inside an installed package of data.

Only its files are read, none of its code is run: see docs/decisions/0025-study-data.md.
"""

import importlib
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

PACKAGE: Final = "build-vocabulary"
_FOLDER: Final = "build_vocabulary/.assert/nltk_data"


def is_installed() -> bool:
    return _find_folder() is not None


def read_members(archive: str, names: tuple[str, ...]) -> dict[str, bytes]:
    """The named files of one archive, by their bare names. Raises FileNotFoundError."""
    folder = _find_folder()
    if folder is None:
        raise FileNotFoundError(PACKAGE)
    with zipfile.ZipFile(folder / archive) as packed:
        inside = Path(archive).stem
        return {name: packed.read(f"{inside}/{name}") for name in names}


@cache
def _find_folder() -> Path | None:
    try:
        folder = Path(str(distribution(PACKAGE).locate_file(_FOLDER)))
    except PackageNotFoundError:
        return None
    return folder if folder.is_dir() else None


def read_words(name: str) -> frozenset[str]:
    """The words of a file beside this module."""
    return frozenset((files("docmill.study.reader") / "data" / name).read_text("utf-8").split())


GRAMMAR: Final = read_words("grammar.txt")
NUMBERS: Final = read_words("numbers.txt")
_ROMAN: Final = re.compile(r"m{0,3}(cm|cd|d?c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})")
_NOT_ROMAN: Final = frozenset(
    {"mix", "mild", "civil", "vivid", "livid", "dim", "lid", "mid", "did"}
)


def is_plain(word: str) -> bool:
    """Whether a word in small letters is too much of a helper, or a number, to be learnt."""
    if len(word) < 3 or word in GRAMMAR or word in NUMBERS:
        return True
    return word not in _NOT_ROMAN and _ROMAN.fullmatch(word) is not None


UNKNOWN: Final = 0.0
# The least frequency of each band. Common European Framework's letters, but its words were chosen
# by teachers, and these by counting: hence CEFR-like.
BANDS: Final = ((5.3, "A1"), (4.8, "A2"), (4.2, "B1"), (3.6, "B2"), (2.9, "C1"), (-1.0, "C2"))


@cache
def _load_frequencies(language: str) -> Mapping[str, float]:
    """Empty for a language without a list."""
    # A library of word lists: a third of a second to import, wanted only where documents are read.
    library: Any = importlib.import_module("wordfreq")
    try:
        return library.get_frequency_dict(language)
    except LookupError:
        return {}


def warm_frequencies(language: str) -> None:
    _load_frequencies(language)


def zipf_frequency(word: str, language: str) -> float:
    found = _load_frequencies(language).get(word.lower())
    return round(math.log10(found) + 9, 2) if found else UNKNOWN


def find_band(frequency: float) -> str:
    return next(name for least, name in BANDS if frequency >= least)


ENGLISH: Final = "en"
LANGUAGE_NAMES: Final[Mapping[str, str]] = {
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
SMALL_WORDS: Final[Mapping[str, frozenset[str]]] = {
    code: frozenset(words.split())
    for code, _, words in (
        line.partition("\t")
        for line in (files("docmill.study.reader") / "data" / "small.tsv")
        .read_text("utf-8")
        .splitlines()
    )
}
CAPITAL_NOUNS: Final = frozenset({"de"})
SURE: Final = 0.08  # of a text's words are of its language's small ones, at the very least


def detect_language(words: Iterable[str]) -> tuple[str, float]:
    """The language's code and how much of the text speaks for it; "" for none of those we know."""
    counts = Counter(words)
    total = counts.total() or 1
    shares = {
        code: sum(counts[word] for word in small) / total for code, small in SMALL_WORDS.items()
    }
    best = max(shares, key=lambda code: shares[code])
    return (best, round(shares[best], 2)) if shares[best] >= SURE else ("", 0.0)


@cache
def _load_lemmatizer() -> Any:
    # A library of dictionaries, wanted only for texts that are not English.
    return importlib.import_module("simplemma")


def find_lemma(word: str, language: str) -> str:
    """The dictionary form of a word in a language other than English."""
    return _load_lemmatizer().lemmatize(word, lang=language, greedy=False)


def is_known(word: str, language: str) -> bool:
    return _load_lemmatizer().is_known(word, lang=language)
