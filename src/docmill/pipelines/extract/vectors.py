"""Vectors of passages: by the service for embeddings where one is set, else by the local model."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.core.pipeline import Tools
from docmill.core.steps import Steps
from docmill.embeddings import local
from docmill.pipelines.extract.chunks import PATH, Chunk

SERVICE: Final = "embed"
MOST: Final = 10_000  # parts: what comes after them is found by its words alone
SECONDS: Final = 600.0  # the same after so long, well before the run itself would be cut off
AT_A_TIME: Final = 64  # in one question to a service
BEGIN, END = 60, 99

Vectors = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Understood:
    """The model's name, and of each passage the vectors of its parts, as PostgreSQL reads them."""

    model: str
    vectors: list[list[str]]
    warnings: list[str]


def vectors_of(chunks: Sequence[Chunk], tools: Tools) -> Understood:
    """The first part of every passage comes first: where not all fit, each has one vector."""
    texts = [_texts(chunk) for chunk in chunks]
    parts = sorted((part, index) for index, own in enumerate(texts) for part in range(len(own)))
    found: list[list[str]] = [[] for _ in chunks]
    model, done, until = "", 0, time.monotonic() + SECONDS
    for maker, vectors in _embedded([texts[index][part] for part, index in parts[:MOST]], tools):
        model = maker
        for (_, index), vector in zip(parts[done:], vectors, strict=False):
            found[index].append(vector)
        done += len(vectors)
        percent = BEGIN + (END - BEGIN) * done // len(parts)
        tools.progress(percent, f"vector {done} of {len(parts)}")
        if time.monotonic() > until:
            break
    return Understood(model, found, _warnings(done, len(parts)) if model else [])


def _warnings(done: int, parts: int) -> list[str]:
    if done == parts:
        return []
    return [f"meaning was made of {done} of {parts} parts of passages; words find the rest"]


def _texts(chunk: Chunk) -> Sequence[str]:
    """The parts, each under the nearest heading, which often names what they speak of."""
    heading = chunk.heading.rpartition(PATH)[2]
    return [part if heading in part else f"{heading}\n{part}" for part in chunk.parts]


def _embedded(texts: Sequence[str], tools: Tools) -> Iterator[tuple[str, list[str]]]:
    """A few at a time, so that there is always something to tell; written as PostgreSQL reads."""
    embedder = local.embedder()
    if SERVICE in tools.services:
        for start in range(0, len(texts), AT_A_TIME):
            model, vectors = _asked(texts[start : start + AT_A_TIME], tools)
            yield model, [_written(vector) for vector in vectors]
    elif embedder:
        yield from ((local.NAME, vectors) for vectors in _made(texts, embedder, tools))


def _made(texts: Sequence[str], embedder: local.Embedder, tools: Tools) -> Iterator[list[str]]:
    """The local model's, the first from what an earlier try has kept."""
    steps = Steps(tools.memory, f"vectors of {local.NAME}", list[str])
    done = 0
    for vectors in steps.earlier():
        yield vectors
        done += len(vectors)
    for made in embedder.embed_each(texts[done:]):
        vectors = [_written(vector) for vector in made.tolist()]
        steps.done(vectors, sum(map(len, vectors)))
        yield vectors


def _asked(texts: Sequence[str], tools: Tools) -> tuple[str, Vectors]:
    answer: Any = tools.ask(SERVICE, {"texts": list(texts), "dimensions": local.WIDTH})
    vectors: list[list[float]] = answer["vectors"]
    if [len(vector) for vector in vectors] != [local.WIDTH] * len(texts):
        detail = f"{len(texts)} embeddings must come, of {local.WIDTH} numbers each"
        raise Faulted("SERVICE_REFUSED", detail)
    return answer["model"], vectors


def _written(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.4f}" for number in vector) + "]"
