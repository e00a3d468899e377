"""Vectors of passages: by the service for embeddings where one is set, else by the local model."""

from collections.abc import Sequence
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import Tools
from docmill.embeddings import local
from docmill.pipelines.extract.chunks import Chunk

SERVICE: Final = "embed"
MOST: Final = 5000  # passages: the others are found by their words alone
AT_A_TIME: Final = 64
BEGIN, END = 60, 99


def vectors_of(chunks: Sequence[Chunk], tools: Tools) -> list[str]:
    """One for each passage as PostgreSQL reads it, as many as there can be, the first ones first."""
    texts = [f"{chunk.heading}\n{chunk.text}" for chunk in chunks[:MOST]]
    found: list[str] = []
    for start in range(0, len(texts), AT_A_TIME):
        vectors = _embedded(texts[start : start + AT_A_TIME], tools)
        if vectors is None:
            return []
        found += vectors
        percent = BEGIN + (END - BEGIN) * len(found) // len(texts)
        tools.progress(percent, f"{len(found)} of {len(texts)} passages understood")
    return found


def _embedded(texts: Sequence[str], tools: Tools) -> list[str] | None:
    if SERVICE in tools.services:
        return [_written(vector) for vector in _asked(texts, tools)]
    embedder = local.embedder()
    if embedder is None:
        return None
    return [_written(vector.tolist()) for vector in embedder.embed(texts)]


def _asked(texts: Sequence[str], tools: Tools) -> list[list[float]]:
    answer: Any = tools.ask(SERVICE, {"texts": list(texts)})
    vectors: list[list[float]] = answer["vectors"]
    if len(vectors) != len(texts) or any(len(vector) != local.WIDTH for vector in vectors):
        raise Faulted("SERVICE_REFUSED", f"embeddings must have {local.WIDTH} numbers")
    return vectors


def _written(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.4f}" for number in vector) + "]"
