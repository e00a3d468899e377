"""How near meanings are to sentences that use a word, by the local model of texts."""

import re
from collections.abc import Sequence
from typing import Final

from docmill.embeddings import local
from docmill.pipelines.study.wordnet import Sense

SENTENCES: Final = 3  # of a word are looked at
AROUND: Final = 80  # characters on each side of it


def warm() -> None:
    local.embedder()


def nearness(word: str, senses: Sequence[Sense], texts: Sequence[str]) -> list[float]:
    """From -1 to 1 for each sense; 0 for all of them where the model is not installed."""
    model = local.embedder()
    if model is None or not texts:
        return [0.0] * len(senses)
    said = [_around(text, word) for text in texts[:: max(1, len(texts) // SENTENCES)][:SENTENCES]]
    vectors = model.embed([*said, *(_gloss(word, sense) for sense in senses)])
    return (vectors[len(said) :] @ vectors[: len(said)].T).mean(1).tolist()


def _around(text: str, word: str) -> str:
    found = re.search(rf"\b{re.escape(word[: max(3, len(word) - 2)])}", text, re.IGNORECASE)
    middle = found.start() if found else 0
    return text[max(0, middle - AROUND) : middle + AROUND]


def _gloss(word: str, sense: Sense) -> str:
    names = ", ".join((word, *sense.synonyms))
    return f"{names}: {sense.definition}; {sense.quotations}"
