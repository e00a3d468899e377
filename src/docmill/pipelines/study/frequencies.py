"""How common a word is in general, on the Zipf scale: 7 is `the`, 3 is once in a million words."""

import importlib
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

UNKNOWN: Final = 0.0
# The least frequency of each band. Common European Framework's letters, but its words were chosen
# by teachers, and these by counting: hence CEFR-like.
BANDS: Final = ((5.3, "A1"), (4.8, "A2"), (4.2, "B1"), (3.6, "B2"), (2.9, "C1"), (-1.0, "C2"))


@cache
def _list(language: str) -> Mapping[str, float]:
    """Empty for a language without a list."""
    # A library of word lists: a third of a second to import, wanted only where documents are read.
    library: Any = importlib.import_module("wordfreq")
    try:
        return library.get_frequency_dict(language)
    except LookupError:
        return {}


def warm(language: str) -> None:
    _list(language)


def zipf(word: str, language: str) -> float:
    found = _list(language).get(word.lower())
    return round(math.log10(found) + 9, 2) if found else UNKNOWN


def band(frequency: float) -> str:
    return next(name for least, name in BANDS if frequency >= least)
