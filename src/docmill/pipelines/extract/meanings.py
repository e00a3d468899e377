"""What the words of labels stand for, in English, German, French, Spanish and Indonesian.

The words are in `data/`: one thing a line, and phrases that mean one. A compound is what its parts
are: Rechnungsnummer is of an invoice and a number.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

from docmill.reading.dates import folded

SHORTEST: Final = 3  # letters of a part of a compound
_FOLDER: Final = files("docmill.pipelines.extract") / "data"
_MEANS: Final[Mapping[str, str]] = {
    folded(word): line.partition(":")[0]
    for line in (_FOLDER / "meanings.txt").read_text("utf-8").splitlines()
    for word in line.partition(":")[2].split()
}
_THINGS: Final = frozenset(_MEANS.values())
_PARTIES: Final = frozenset({"seller", "buyer"})
_PHRASES: Final = sorted(
    (
        tuple(part.strip() for part in line.split("="))
        for line in (_FOLDER / "phrases.txt").read_text("utf-8").splitlines()
    ),
    key=lambda pair: -len(pair[0]),
)
_FILL: Final = frozenset(
    {
        "a", "an", "and", "as", "at", "by", "for", "from", "in", "is", "of", "on", "our", "please",
        "the", "this", "to", "your", "der", "die", "das", "des", "dem", "und", "zum", "zur",
        "ihre", "unsere", "am", "bis", "de", "du", "la", "les", "et", "d", "l", "votre", "notre",
        "del", "el", "los", "y", "su", "yang", "dan", "dari", "untuk", "incl", "inkl", "including",
        "zuzugl", "zzgl", "plus",
    }
)  # fmt: skip
_JOINTS: Final = ("", "s", "n", "en", "es")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])(?<!Mw(?=St))")
_SHARE: Final = re.compile(r"\d+(?:[.,]\d+)?\s*%")  # VAT 20%
_PARTS: Final = re.compile(r"[^\W_]+|[#%]")


@lru_cache(maxsize=4096)
def meanings(text: str) -> tuple[str, ...]:
    """What the words of a name or label stand for; `invoiceNo` has two of them."""
    plain = " ".join(_PARTS.findall(folded(_SHARE.sub(" ", _CAMEL.sub(" ", text)))))
    padded = f" {plain} "
    for phrase, word in _PHRASES:
        padded = padded.replace(f" {phrase} ", f" {word} ")
    words = [word for word in padded.split() if word not in _FILL and not word.isdecimal()]
    stand_for = (part for word in words or padded.split() for part in _meaning(word))
    return tuple(dict.fromkeys(stand_for))


def is_label_like(text: str) -> bool:
    """Whether text names a thing of a form, so that it is hardly a value: Number, Bill to."""
    words = meanings(text)
    return bool(words) and _THINGS.issuperset(words) and not _PARTIES.issuperset(words)


@lru_cache(maxsize=4096)
def _meaning(word: str) -> tuple[str, ...]:
    one = word.removesuffix("ies") + "y" if word.endswith("ies") else word.removesuffix("s")
    known = _MEANS.get(word) or _MEANS.get(one)
    return (known,) if known else _compound(word) or (word,)


def _compound(word: str) -> tuple[str, ...]:
    """What the two parts of a word stand for, if both are known."""
    for at in range(len(word) - SHORTEST, SHORTEST - 1, -1):
        last = _MEANS.get(word[at:])
        for joint in _JOINTS if last else ():
            first = _MEANS.get(word[:at].removesuffix(joint)) if word[:at].endswith(joint) else None
            if first and last:
                return first, last
    return ()
