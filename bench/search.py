"""How well search finds passages of public texts by questions in other words, and how fast it is
among 100,000 passages. `python -m bench.table --only search`.
"""

import asyncio
import hashlib
import io
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

import psycopg

from bench import filling
from bench.ground import Ground
from docmill.core import installed
from docmill.core.documents import NewDocument
from docmill.core.jobs import DocumentId, JobId
from docmill.core.owners import OwnerKey
from docmill.core.plugins import TEXT, Source, Tools
from docmill.db.pool import Connection, open_pool
from docmill.documents import queries
from docmill.extract import queries as extract_queries
from docmill.extract import search
from docmill.extract.queries import SearchFilter, SearchQuery
from docmill.extract.search import SearchRequest, rank_passages
from docmill.extract.vectors import build_statement
from docmill.queue import claim, enqueue
from docmill.reading import embeddings
from eval.questions import Quiz, quizzes
from eval.rows import Row, Spread, spread

CROWD_OWNER: Final = OwnerKey("session:crowd")
TOP: Final = 3
FLOOR: Final = 0.85
FAST_MS: Final = 300.0


def measure(ground: Ground) -> Iterator[Row]:
    url = ground.migrated("search")
    known = [*quizzes()]
    for quiz in known:
        yield _quality(url, quiz)
    (quiz, *_) = (quiz for quiz in known if quiz.texts)
    count = ground.count(100_000, 12_000)
    _crowded(url, count)
    for owner, whose in ((CROWD_OWNER, "an owner of all"), (quiz.owner, "an owner of few")):
        took = asyncio.run(_took(url, owner, [pair.question for pair in quiz.pairs]))
        yield Row(
            f"search among {count:,} passages, {whose}", str(took), floor=f"p95 < {FAST_MS:.0f} ms",
            kept=took.p95 < FAST_MS, figures=asdict(took),
        )  # fmt: skip


def _quality(url: str, quiz: Quiz) -> Row:
    what = f"search: passage among the first {TOP} of {len(quiz.pairs)} {quiz.about} questions"
    if not quiz.texts:
        return Row(what, "not measured: this machine does not have the texts")
    rates = asyncio.run(_rates(url, quiz))
    found, words, meaning, places = (rates[way] for way in ("both", "words", "meaning", "places"))
    others = f"words alone {words:.2f}, meaning alone {meaning:.2f}, by places {places:.2f}"
    return Row(
        what, f"{found:.2f}", others,
        found / words if words else None, f">= {FLOOR}, better than words",
        found >= FLOOR and found > words, rates,
    )  # fmt: skip


def _chunks(name: str, text: bytes) -> Sequence[dict[str, Any]]:
    """What extract makes of the text, with vectors, as a worker would write it."""
    tools = Tools(progress=lambda percent, stage: None, rows=True)
    output = installed.load_pipeline("extract").run(Source(io.BytesIO(text), name, TEXT), tools)
    return [dict(row) for row in output.rows["chunks"]]


async def _write(
    conn: Connection, owner: OwnerKey, name: str, rows: Sequence[dict[str, Any]]
) -> None:
    """A document, its job and its passages, by the road's own steps."""
    document = NewDocument(
        DocumentId(uuid4()), hashlib.sha256(name.encode()).hexdigest(), 1, TEXT, name, "manual",
        f"uploads/{name}", {},
    )  # fmt: skip
    job = enqueue.NewJob(JobId(uuid4()), document.id, owner, "extract", None, {}, 0, None)
    await enqueue.ensure_owner(conn, owner)
    await queries.insert_document(conn, owner, document, keep=None)
    await enqueue.add_job(conn, job)
    await enqueue.enqueue(conn, job)
    lease = timedelta(minutes=5)
    (claimed,) = await claim.claim(conn, "bench", pipelines=["extract"], slots=1, lease=lease)
    await extract_queries.write_chunks(conn, claimed, json.dumps(rows))


async def _rates(url: str, quiz: Quiz) -> dict[str, float]:
    """Of all questions, for how many the passage is among the first, by each way of looking."""
    read = {name: _chunks(name, text) for name, text in quiz.texts.items()}
    async with open_pool(url) as pool, pool.connection() as conn:
        for name, rows in read.items():
            await _write(conn, quiz.owner, name, rows)
        found: dict[str, int] = dict.fromkeys(("both", "words", "meaning", "places"), 0)
        for pair in quiz.pairs:
            asked = SearchQuery(quiz.owner, pair.question)
            for way, ids in (await _ways(conn, asked)).items():
                hits = await extract_queries.fetch_hits(conn, asked, ids[:TOP])
                found[way] += any(_plain(pair.passage) in _plain(hit.text) for hit in hits.values())
    return {way: count / len(quiz.pairs) for way, count in found.items()}


async def _ways(conn: Connection, asked: SearchQuery) -> dict[str, Sequence[int]]:
    made = await embeddings.embed_locally([asked.words], embeddings.LOCAL)
    if made:
        asked = replace(asked, model=embeddings.LOCAL, vector=str(made[0]))
    words = await extract_queries.weigh_words(conn, asked)
    best, near = (
        await extract_queries.find_best(conn, asked, words),
        await extract_queries.find_nearest(conn, asked),
    )
    found = await extract_queries.rate_likeness(conn, asked, words, [*{*best, *near}])
    return {
        "both": [number for _, number in rank_passages(found, words.weights)],
        "words": best,
        "meaning": near,
        "places": _by_places((0.7, best), (1.0, near)),
    }


def _by_places(*rankings: tuple[float, Sequence[int]]) -> list[int]:
    """Reciprocal rank, to compare with: each ranking with its weight, and 2 as the constant."""
    scores: dict[int, float] = {}
    for weight, ranking in rankings:
        for place, thing in enumerate(ranking):
            scores[thing] = scores.get(thing, 0.0) + weight / (3 + place)
    return sorted(scores, key=lambda thing: (-scores[thing], thing))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


# Two real passages make another; their vectors too: enough of them for any crowd.
CROWD: Final = """
WITH jobs AS (SELECT id, document_id FROM jobs LIMIT 1)
INSERT INTO chunks (job_id, document_id, owner, position, page, heading, text)
SELECT jobs.id, jobs.document_id, 'session:crowd', 1000000 + n, 1, '',
       left(a.text, 400) || ' ' || right(b.text, 400)
  FROM jobs, generate_series(1, %(count)s) n
  JOIN LATERAL (SELECT %(all)s::bigint[] AS ids) i ON true
  JOIN chunks a ON a.id = i.ids[1 + (hashint4(n)::bigint + 2147483648) %% cardinality(i.ids)]
  JOIN chunks b ON b.id = i.ids[1 + (hashint4(-n)::bigint + 2147483648) %% cardinality(i.ids)]
"""
CROWD_VECTORS: Final = """
INSERT INTO chunk_vectors (chunk_id, part, document_id, owner, model, embedding)
SELECT c.id, a.part, c.document_id, c.owner, a.model, a.embedding + b.embedding
  FROM chunks c
  JOIN LATERAL (SELECT %(all)s::bigint[] AS ids) i ON true
  JOIN chunk_vectors a ON a.chunk_id = i.ids[1 + (hashint4(c.position - 1000000)::bigint
                                               + 2147483648) %% cardinality(i.ids)]
  JOIN chunk_vectors b ON b.part = 1
   AND b.chunk_id = i.ids[1 + (hashint4(1000000 - c.position)::bigint
                               + 2147483648) %% cardinality(i.ids)]
 WHERE c.owner = 'session:crowd' AND a.part <= 2
"""


def _crowded(url: str, count: int) -> None:
    """The graph is built at the end, which is faster than growing it."""
    with psycopg.connect(url) as conn:
        conn.execute("INSERT INTO owners (owner) VALUES ('session:crowd')")
        ids = [row[0] for row in conn.execute("SELECT chunk_id FROM chunk_vectors WHERE part = 1")]
        conn.execute(CROWD, {"count": count, "all": ids})
        conn.execute(CROWD_VECTORS, {"all": ids})
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET maintenance_work_mem = '512MB'")
        conn.execute(build_statement(embeddings.LOCAL))
    filling.settle_down(url)


async def _took(url: str, owner: OwnerKey, questions: Sequence[str]) -> Spread:
    """Whole searches, with the question's vector and the texts of the hits."""
    took: list[float] = []
    async with open_pool(url) as pool:
        for words in (questions[0], *questions):
            began = time.perf_counter()
            asked = SearchRequest(owner, words, SearchFilter())
            assert (await search.find_passages(pool, embeddings.embed_locally, asked)).hits
            took.append(time.perf_counter() - began)
    return spread(took[1:])
