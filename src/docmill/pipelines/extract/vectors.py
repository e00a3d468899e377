"""Vectors of passages: by the service for embeddings where one is set, else by the local model."""

from collections.abc import Sequence
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import Tools
from docmill.embeddings import local
from docmill.pipelines.extract.chunks import PATH, Chunk

SERVICE: Final = "embed"
MOST: Final = 10_000  # parts: what comes after them is found by its words alone
AT_A_TIME: Final = 64
BEGIN, END = 60, 99


def vectors_of(chunks: Sequence[Chunk], tools: Tools) -> tuple[str, list[list[str]]]:
    """The model's name, and of each passage the vectors of its parts, as PostgreSQL reads them."""
    parts = [(index, text) for index, chunk in enumerate(chunks) for text in _texts(chunk)][:MOST]
    found: list[list[str]] = [[] for _ in chunks]
    model = ""
    for start in range(0, len(parts), AT_A_TIME):
        some = parts[start : start + AT_A_TIME]
        model, vectors = _embedded([text for _, text in some], tools)
        for (index, _), vector in zip(some, vectors, strict=False):
            found[index].append(_written(vector))
        percent = BEGIN + (END - BEGIN) * (start + len(some)) // len(parts)
        tools.progress(percent, f"{some[-1][0] + 1} of {len(chunks)} passages understood")
    return model, found


def _texts(chunk: Chunk) -> Sequence[str]:
    """The parts, each under the nearest heading, which often names what they speak of."""
    heading = chunk.heading.rpartition(PATH)[2]
    return [part if part.startswith(heading) else f"{heading}\n{part}" for part in chunk.parts]


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
