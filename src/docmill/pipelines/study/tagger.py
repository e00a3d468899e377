"""Parts of speech of English words in a sentence, by an averaged perceptron and its weights."""

import io
import pickle
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, cast

from docmill.pipelines.study import carrier

# Contractions fall apart as the tagger knows them: do n't, she 's.
_TOKEN: Final = re.compile(
    r"[^\W_]+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|[^\W_]+(?:[-'’][^\W_]+)*?(?=['’](?:s|re"
    r"|ve|ll|d|m)\b)|[^\W_]+(?:[-'’.][^\W_]+)*|\.{3}|[^\w\s]",
    re.IGNORECASE,
)
_QUOTES: Final = {"“": "``", "”": "''", '"': "''", "’": "'", "‘": "`", "—": ":", "–": ":", "…": ":"}
_START: Final = ("-START-", "-START2-")
_END: Final = ("-END-", "-END2-")

Weights = Mapping[str, Mapping[str, float]]


class _Model(NamedTuple):
    weights: Weights
    certain: Mapping[str, str]
    tags: tuple[str, ...]


class _Plain(pickle.Unpickler):
    """Numbers, text and their containers: a file of data must not be able to call anything."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("__builtin__", "set"):
            return set
        raise pickle.UnpicklingError(f"{module_name}.{global_name} in a file of numbers")


def plain(packed: bytes) -> Any:
    """What is in such a file. Raises UnpicklingError for anything but plain data."""
    return _Plain(io.BytesIO(packed)).load()


@cache
def model() -> _Model:
    name = "averaged_perceptron_tagger.pickle"
    packed = carrier.members("taggers/averaged_perceptron_tagger.zip", (name,))[name]
    weights, certain, tags = cast("tuple[Weights, Mapping[str, str], set[str]]", plain(packed))
    return _Model(weights, certain, tuple(sorted(tags)))


def tokens(sentence: str) -> list[str]:
    return [found.group().replace("’", "'") for found in _TOKEN.finditer(sentence)]


def tag(sentence: str) -> list[tuple[str, str]]:
    """Each token with its Penn Treebank tag."""
    known, words = model(), tokens(sentence)
    around = [*_START, *map(_shape, words), *_END]
    last, before_last = _START
    tagged: list[tuple[str, str]] = []
    for at, word in enumerate(words):
        found = known.certain.get(word)
        if found is None:
            tags = (last, before_last)
            found = _best(known, _features(at + 2, _QUOTES.get(word, word), around, tags))
        tagged.append((word, found))
        last, before_last = found, last
    return tagged


def _shape(word: str) -> str:
    """Kinds of numbers look alike."""
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit():
        return "!YEAR" if len(word) == 4 else "!DIGITS"
    return "!DIGITS" if word[0].isdigit() else _QUOTES.get(word, word).lower()


def _features(at: int, word: str, around: Sequence[str], tags: tuple[str, str]) -> tuple[str, ...]:
    last, before_last = tags
    return (
        "bias",
        f"i suffix {word[-3:]}",
        f"i pref1 {word[0]}",
        f"i-1 tag {last}",
        f"i-2 tag {before_last}",
        f"i tag+i-2 tag {last} {before_last}",
        f"i word {around[at]}",
        f"i-1 tag+i word {last} {around[at]}",
        f"i-1 word {around[at - 1]}",
        f"i-1 suffix {around[at - 1][-3:]}",
        f"i-2 word {around[at - 2]}",
        f"i+1 word {around[at + 1]}",
        f"i+1 suffix {around[at + 1][-3:]}",
        f"i+2 word {around[at + 2]}",
    )


def _best(known: _Model, features: Sequence[str]) -> str:
    scores = dict.fromkeys(known.tags, 0.0)
    for feature in features:
        for found, weight in known.weights.get(feature, {}).items():
            scores[found] += weight
    return max(known.tags, key=lambda each: (scores[each], each))
