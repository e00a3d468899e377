"""Words as they were printed where Tesseract's text says something a page never does."""

import re
from typing import Final

_FIGURES: Final = re.compile(r"(?=.*\d)[\dOolI.,]*[.,][\dOolI]{2}")
_LOOK_ALIKE: Final = str.maketrans("OolI", "0011")
_NUMBER_SIGN: Final = re.compile(r"^([Nn])['’‘`]$")  # N° of French and Spanish
_GLUED: Final = re.compile(r"(:|[Nn][°º])(?=\w)")  # a space is lost behind it
# French for quantity, a heading, whose first letter is read as the small one that it resembles
_HEADINGS: Final = {"até": "Qté", "ate": "Qté"}
_ARTICLE: Final = re.compile(r"^[I|1]['’‘](?=[a-zà-ÿ]{2})")  # l'acheteur


def mend_text(text: str) -> str:
    """Without rules beside a word; letters in an amount as the figures they look like."""
    text = _ARTICLE.sub("l'", text)
    bare = text.strip("|¦") or text
    for pair in ("[]", "{}"):
        if (pair[0] in bare) != (pair[1] in bare):
            bare = bare.strip(pair) or bare
    letters = sum(map(str.isalpha, bare))
    if bare == "l" or (0 < letters < len(bare) / 2 and _FIGURES.fullmatch(bare)):
        return bare.translate(_LOOK_ALIKE)
    return _NUMBER_SIGN.sub(r"\1°", bare)


def part_glued(text: str) -> list[str]:
    """The text, or the mark that it begins with and what follows."""
    glued = _GLUED.match(text)
    return [text[: glued.end()], text[glued.end() :]] if glued else [text]


def mend_heading(text: str) -> str:
    """A word that stands alone in its row, as a heading does."""
    return _HEADINGS.get(text, text)
