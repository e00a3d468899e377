"""Search as the API and the page use it: the question's meaning and words, put together."""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import structlog

from docmill.core.faults import DocmillError
from docmill.core.owners import OwnerKey
from docmill.db import wall
from docmill.db.pool import Connection, Pool, connection, read_connection
from docmill.extract import queries
from docmill.extract.queries import Hit, Likeness, SearchFilter, SearchQuery
from docmill.reading.embeddings import Embed, VectorModel, embed_locally
from docmill.web.params import cursor_schema, decode_cursor, encode_cursor

log = structlog.get_logger()

MAX_QUESTION: Final = 1000


@dataclass(frozen=True, slots=True)
class SearchModel:
    """What makes the vectors of that which people search for."""

    embed: Embed = embed_locally


@dataclass(frozen=True, slots=True)
class ScoredHit:
    score: float
    hit: Hit


@dataclass(frozen=True, slots=True)
class RankPosition:
    """Where a page of hits ended."""

    score: float
    id: int


@dataclass(frozen=True, slots=True)
class SearchPage:
    hits: list[ScoredHit]
    next: RankPosition | None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    owner: OwnerKey
    words: str
    only: SearchFilter
    after: RankPosition | None = None
    limit: int = 20


async def find_passages(pool: Pool, embed: Embed, question: SearchRequest) -> SearchPage:
    """The best passages, from a place on. What is deleted meanwhile is left out."""
    # The index of words can't be used behind the wall, where nothing is compared before it is
    # known whose it is. So passages are chosen beyond it, by number, and read behind it.
    with wall.beyond():
        async with connection(pool) as conn:
            models = await queries.rank_models(conn, question.owner)
        known = await _embed_question(embed, question.words, models)
        async with connection(pool) as conn:
            asked, ranking = await _rank(conn, question, known)
    after = question.after
    rest = [one for one in ranking if after is None or (-one[0], one[1]) > (-after.score, after.id)]
    page = rest[: question.limit]
    async with read_connection(pool) as conn:
        hits = await queries.fetch_hits(conn, asked, [id_ for _, id_ in page])
    scored = [ScoredHit(score, hits[id_]) for score, id_ in page if id_ in hits]
    return SearchPage(scored, RankPosition(*page[-1]) if len(rest) > len(page) else None)


async def _rank(
    conn: Connection, question: SearchRequest, known: tuple[VectorModel, list[float]] | None
) -> tuple[SearchQuery, list[tuple[float, int]]]:
    """The question as the database is asked it, and the scores and numbers of what fits it."""
    model, vector = known or (None, None)
    documents = await queries.find_documents(conn, question.owner, question.only)
    asked = SearchQuery(question.owner, question.words, model, _format_vector(vector), documents)
    words = await queries.weigh_words(conn, asked)
    candidates = {
        *await queries.find_best(conn, asked, words),
        *await queries.find_nearest(conn, asked),
    }
    found = await queries.rate_likeness(conn, asked, words, [*candidates])
    return asked, rank_passages([one for one in found if matches(one)], words.weights)


# Measured on the 70 questions of eval/questions.py: passages that answer have 0.53 in the middle,
# nonsense has 0.19 to 0.23 at most.
LEAST_MEANING: Final = 0.25


def matches(one: Likeness) -> bool:
    """Whether a passage has to do with the question: a word of it, or something of its meaning."""
    return one.words > 0 or (one.meaning or 0.0) >= LEAST_MEANING


async def _embed_question(
    embed: Embed, words: str, models: Sequence[VectorModel]
) -> tuple[VectorModel, list[float]] | None:
    """By the first of these models that can be asked. A service for embeddings that fails costs
    the meaning, not the search.
    """
    try:
        for model in models:
            if made := await embed([words], model):
                return model, made[0]
    except DocmillError as exc:
        log.warning("search.by_words_alone", code=exc.fault.code, detail=exc.detail)
    return None


def _format_vector(vector: list[float] | None) -> str | None:
    return "[" + ",".join(f"{number:.5f}" for number in vector) + "]" if vector else None


def find_spans(marked: str) -> list[tuple[int, int]]:
    """Where the marks are, counted in characters of the text without them."""
    found: list[tuple[int, int]] = []
    place = 0
    for part in marked.split("\x02"):
        inside, closed, behind = part.partition("\x03")
        if closed:
            found.append((place, place + len(inside)))
        place += len(inside) + len(behind)
    return found


_RANK: Final = struct.Struct(">dq")


_RANK_FORM: Final = "[A-Za-z0-9_-]{21}[AQgw]"


RankCursorText = Annotated[str, cursor_schema(_RANK_FORM)] | None


def write_rank_cursor(place: RankPosition) -> str:
    return encode_cursor(_RANK.pack(place.score, place.id))


def read_rank_cursor(cursor: str) -> RankPosition:
    if not re.fullmatch(_RANK_FORM, cursor):
        raise ValueError("not a cursor of ours")
    score, number = _RANK.unpack(decode_cursor(cursor))
    return RankPosition(score if 0 <= score <= 1 else 0.0, number)


# What a word is worth beside meaning. Measured: docs/decisions/0029-scores.md.
WORDS_WORTH: Final = 0.03


def rank_passages(found: Sequence[Likeness], weights: Sequence[float]) -> list[tuple[float, int]]:
    """Scores from 0 to 1 and passages, best first.

    `weights` are those of the words asked for: 1 is a passage that means the same and has them
    all. What has no vector counts as the farthest of what has one, and where nothing has one,
    the words decide alone.
    """
    farthest = min((one.meaning for one in found if one.meaning is not None), default=None)
    whole = WORDS_WORTH * sum(weights) + (0.0 if farthest is None else 1.0)

    def score(one: Likeness) -> float:
        meaning = farthest if one.meaning is None else one.meaning
        return max(0.0, min(1.0, round((WORDS_WORTH * one.words + (meaning or 0.0)) / whole, 6)))

    scores = ((score(one), one.id) for one in found) if whole else ()
    return sorted(scores, key=lambda item: (-item[0], item[1]))
