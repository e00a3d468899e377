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


def vectors_of(chunks: Sequence[Chunk], tools: Tools) -> tuple[str, list[str]]:
    """The model's name, and of the first passages one vector each, as PostgreSQL reads it."""
    texts = [f"{chunk.heading}\n{chunk.text}" for chunk in chunks[:MOST]]
    model, found = "", list[str]()
    for start in range(0, len(texts), AT_A_TIME):
        model, vectors = _embedded(texts[start : start + AT_A_TIME], tools)
        if not vectors:
            break
        found += map(_written, vectors)
        percent = BEGIN + (END - BEGIN) * len(found) // len(texts)
        tools.progress(percent, f"{len(found)} of {len(texts)} passages understood")
    return model, found


def _embedded(texts: Sequence[str], tools: Tools) -> tuple[str, Sequence[Sequence[float]]]:
    if SERVICE in tools.services:
        return _asked(texts, tools)
    embedder = local.embedder()
    return local.NAME, embedder.embed(texts).tolist() if embedder else []


def _asked(texts: Sequence[str], tools: Tools) -> tuple[str, Sequence[Sequence[float]]]:
    answer: Any = tools.ask(SERVICE, {"texts": list(texts), "dimensions": local.WIDTH})
    vectors: list[list[float]] = answer["vectors"]
    if any(len(vector) != local.WIDTH for vector in vectors):
        raise Faulted("SERVICE_REFUSED", f"embeddings must have {local.WIDTH} numbers")
    return answer["model"], vectors


def _written(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.4f}" for number in vector) + "]"
