"""Whose name a text is likely to be: a person's, or a firm's that has no company's form."""

from functools import lru_cache
from typing import Final

from docmill.invoices.reader import lexicon
from docmill.reading.labels import names_company, squeeze

MOST_WORDS: Final = 5  # of a person's name
_GIVEN: Final = lexicon.squeezed_words("given_name")
_TRADES: Final = lexicon.squeezed_words("trade")
_ORGANISATION: Final = lexicon.printed_pattern("organisation", r"\b", r"\b")
_OFFICE: Final = lexicon.printed_pattern("office", r"\b", r"\b")


@lru_cache(maxsize=4096)
def names_firm(text: str) -> bool:
    """Whether a name says that it is no person's: by its form, its trade, or what kind it is of."""
    if names_company(text) or _ORGANISATION.search(text):
        return True
    words = [squeeze(word) for word in text.split()]
    return any(word in _TRADES or f"{word}s" in _TRADES for word in words)


@lru_cache(maxsize=4096)
def names_person(text: str) -> bool:
    """Whether a name is a person's: a title or a given name, and a family name behind it."""
    words = [word for word in text.replace(".", ". ").split() if word]
    titled = bool(words) and squeeze(words[0]) in lexicon.COURTESIES
    own = words[titled:]
    if (not titled and not 1 < len(own) <= MOST_WORDS) or names_firm(text):
        return False
    if not all(word[0].isalpha() and word[-1] not in ":;" for word in own):
        return False
    return titled or squeeze(own[0].split("-")[0]) in _GIVEN


def is_employer(text: str) -> bool:
    """Whether a line under a person names the firm, not an office or a department of it."""
    return names_firm(text) and not _OFFICE.search(text)
