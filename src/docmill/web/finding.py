"""Search as the API and the page use it: the question's meaning and words, put together."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import structlog

from docmill.core.faults import Faulted
from docmill.core.owners import OwnerKey
from docmill.core.ranking import ranked
from docmill.db import search
from docmill.db.pool import Pool, connection
from docmill.db.search import Asked, Hit, Only
from docmill.embeddings import local

log = structlog.get_logger()

LONGEST: Final = 1000

# A text's vector and the model that made it; None where there is no model.
Embed = Callable[[str], Awaitable[tuple[str, list[float]] | None]]


async def embed_here(text: str) -> tuple[str, list[float]] | None:
    """By the local model, in a thread: loading it takes a moment the first time."""
    return await asyncio.to_thread(_embedded, text)


def _embedded(text: str) -> tuple[str, list[float]] | None:
    embedder = local.embedder()
    return (local.NAME, embedder.embed([text])[0].tolist()) if embedder else None


@dataclass(frozen=True, slots=True)
class Scored:
    score: float
    hit: Hit


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of hits ended."""

    score: float
    id: int


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Scored]
    next: Place | None


@dataclass(frozen=True, slots=True)
class Question:
    owner: OwnerKey
    words: str
    only: Only
    after: Place | None = None
    limit: int = 20


async def find(pool: Pool, embed: Embed, question: Question) -> Found:
    """The best passages, from a place on. What is deleted meanwhile is left out."""
    known = await _understood(embed, question.words)
    model, vector = known or ("", None)
    async with connection(pool) as conn:
        documents = await search.documents(conn, question.owner, question.only)
        asked = Asked(question.owner, question.words, model, _written(vector), documents)
        words = await search.words(conn, asked)
        candidates = {*await search.best(conn, asked, words), *await search.nearest(conn, asked)}
        found = await search.likeness(conn, asked, words, [*candidates])
        ranking = ranked(found, words.weights)
        after = question.after
        rest = [
            one for one in ranking if after is None or (-one[0], one[1]) > (-after.score, after.id)
        ]
        page = rest[: question.limit]
        hits = await search.hits(conn, asked, [id_ for _, id_ in page])
    scored = [Scored(score, hits[id_]) for score, id_ in page if id_ in hits]
    return Found(scored, Place(*page[-1]) if len(rest) > len(page) else None)


async def _understood(embed: Embed, words: str) -> tuple[str, list[float]] | None:
    """A service for embeddings that fails costs the meaning, not the search."""
    try:
        return await embed(words)
    except Faulted as exc:
        log.warning("search.by_words_alone", code=exc.fault.code, detail=exc.detail)
        return None


def _written(vector: list[float] | None) -> str | None:
    return "[" + ",".join(f"{number:.5f}" for number in vector) + "]" if vector else None


def spans(marked: str) -> list[tuple[int, int]]:
    """Where the marks are, counted in characters of the text without them."""
    found: list[tuple[int, int]] = []
    place = 0
    for part in marked.split("\x02"):
        inside, closed, behind = part.partition("\x03")
        if closed:
            found.append((place, place + len(inside)))
        place += len(inside) + len(behind)
    return found
