"""Passages and fields in real tables: found by their owner alone, and gone with their document."""

import json
from typing import Any

import psycopg
import pytest

from db.crowd import plan_of
from docmill.core.jobs import Claimed
from docmill.core.owners import OwnerKey
from docmill.db import migrate
from docmill.db.pool import Connection, Pool
from docmill.extract import queries, vectors
from docmill.extract.queries import SearchFilter, SearchQuery, weigh_word
from docmill.extract.vectors import build_statement, name_graph
from docmill.jobs import results
from docmill.reading.embeddings import VectorModel
from road import ANN, BOB, add_job, claim_one, finish

pytestmark = pytest.mark.anyio

MODEL = VectorModel("toy", 384)


def vector(at: int, more: float = 0.0) -> str:
    """A vector along one axis, leaning a little to the next."""
    return json.dumps(
        [1.0 if place == at else more if place == at + 1 else 0 for place in range(384)]
    )


def passage(text: str, *vectors: str) -> dict[str, Any]:
    return {
        "page": 1,
        "page_size": [595, 842],
        "box": [1, 2, 3, 4],
        "heading": "Terms",
        "text": text,
        "model": MODEL.key,
        "embeddings": vectors,
    }


async def read(conn: Connection, owner: OwnerKey, *rows: dict[str, Any]) -> Claimed:
    """A document of the owner with these passages."""
    await add_job(conn, owner)
    job = await claim_one(conn)
    await queries.write_chunks(conn, job, json.dumps(rows))
    return job


async def best(conn: Connection, asked: SearchQuery) -> list[int]:
    return await queries.find_best(conn, asked, await queries.weigh_words(conn, asked))


async def texts(conn: Connection, asked: SearchQuery, ids: list[int]) -> list[str]:
    found = await queries.fetch_hits(conn, asked, ids)
    return [found[number].text for number in ids]


async def test_the_nearest_passage_comes_first_by_its_nearest_part(conn: Connection) -> None:
    await read(conn, ANN, passage("far", vector(5)), passage("near", vector(9), vector(0, 0.1)))
    asked = SearchQuery(ANN, "", MODEL, vector(0))

    found = await queries.find_nearest(conn, asked)

    assert await texts(conn, asked, found) == ["near", "far"]


async def test_rare_words_count_more_than_common_ones(conn: Connection) -> None:
    common = [passage(f"the price of number {at}") for at in range(20)]
    await read(conn, ANN, *common, passage("the penalty of the contract"))
    asked = SearchQuery(ANN, "what price has the penalty?")

    found = await best(conn, asked)

    assert (await texts(conn, asked, found))[0] == "the penalty of the contract"
    assert len(found) == 21


async def test_nobody_finds_another_owners_passages(conn: Connection) -> None:
    await read(conn, BOB, passage("the secret of bob", vector(0)))
    mine = SearchQuery(ANN, "secret", MODEL, vector(0))
    theirs = SearchQuery(BOB, "secret", MODEL, vector(0))
    (number,) = await queries.find_nearest(conn, theirs)

    assert await best(conn, theirs) == [number]
    assert await best(conn, mine) == []
    assert await queries.find_nearest(conn, mine) == []
    assert await queries.fetch_hits(conn, mine, [number]) == {}
    assert await queries.find_documents(conn, ANN, SearchFilter(filename="a.pdf")) == []


async def test_an_owner_whose_name_is_a_word_finds_nobody_elses(conn: Connection) -> None:
    await read(conn, BOB, passage("mentions @session:ann and 'session:ann'"))

    assert await best(conn, SearchQuery(ANN, "mentions session ann")) == []


async def test_filters_keep_to_documents(conn: Connection) -> None:
    first = await read(conn, ANN, passage("alpha one", vector(0)))
    await read(conn, ANN, passage("alpha two", vector(0)))
    only = await queries.find_documents(conn, ANN, SearchFilter(document=first.document_id))
    asked = SearchQuery(ANN, "alpha", MODEL, vector(0), only)

    assert await texts(conn, asked, await best(conn, asked)) == ["alpha one"]
    assert await texts(conn, asked, await queries.find_nearest(conn, asked)) == ["alpha one"]


async def test_a_passage_is_as_like_as_its_nearest_part_and_the_words_it_has(
    conn: Connection,
) -> None:
    rows = passage("the penalty", vector(9), vector(0)), passage("other", vector(3))
    await read(conn, ANN, *rows, passage("no vector"))
    asked = SearchQuery(ANN, "penalty", MODEL, vector(0))
    words = await queries.weigh_words(conn, asked)
    row = await (
        await conn.execute("SELECT array_agg(id ORDER BY position) FROM chunks")
    ).fetchone()

    found = await queries.rate_likeness(conn, asked, words, row[0] if row else [])

    (first, second, third) = sorted(found, key=lambda one: one.id)
    assert (first.meaning, second.meaning, third.meaning) == (1.0, 0.0, None)
    assert 0.5 * words.weights[0] < first.words < words.weights[0]
    assert (second.words, third.words) == (0.0, 0.0)


async def test_a_word_in_many_passages_is_looked_for_only_with_the_others(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "COMMON", 3)
    await read(
        conn, ANN, *(passage(f"price list {at}") for at in range(4)), passage("price penalty")
    )

    assert len(await best(conn, SearchQuery(ANN, "price"))) == 5
    assert len(await best(conn, SearchQuery(ANN, "price list"))) == 4
    assert len(await best(conn, SearchQuery(ANN, "price penalty"))) == 1


async def test_common_words_of_an_owner_with_many_passages_are_known_without_counting(
    conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "COUNTED", 5)
    monkeypatch.setattr(queries, "COMMON", 4)
    await read(
        conn, ANN, *(passage(f"the price of tea {at}") for at in range(40)), passage("fines")
    )
    await conn.execute("ANALYZE chunks")

    words = await queries.weigh_words(conn, SearchQuery(ANN, "price of fines"))

    assert dict(zip(words.each, words.weights, strict=True)) == pytest.approx(
        {"'price'": weigh_word(40, 41), "'fine'": weigh_word(1, 41)}, rel=0.05
    )
    assert words.query == "'fine'"


async def test_the_model_with_the_most_passages_of_the_owner_is_asked(conn: Connection) -> None:
    wide = passage("wide", "[1,0]") | {"model": WIDE.key}
    await read(conn, ANN, passage("one", vector(0), vector(1)), wide)
    await read(conn, ANN, passage("two", vector(0)))
    await read(conn, BOB, wide, passage("no vector"))

    assert await queries.rank_models(conn, ANN) == [MODEL, WIDE]
    assert await queries.rank_models(conn, BOB) == [WIDE]
    asked = SearchQuery(ANN, "", WIDE, "[1,0]")
    assert await texts(conn, asked, await queries.find_nearest(conn, asked)) == ["wide"]


async def test_each_model_has_a_graph_of_its_own_while_it_has_many_vectors(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "EXACT", 1)
    monkeypatch.setattr(vectors, "EXACT", 1)
    wider = VectorModel("wider@4001", 4001)
    async with pool.connection() as conn:
        await read(conn, ANN, passage("one", vector(0)), passage("two", vector(1)))
        for model in (WIDE, wider):
            number = json.dumps([1] * model.width)
            rows = [passage(text, number) | {"model": model.key} for text in ("three", "four")]
            await read(conn, ANN, *rows)

    await vectors.build_graphs(pool)

    async with pool.connection() as conn:
        assert await graphs(conn) == {name_graph(MODEL), name_graph(WIDE)}
        for model, near in ((WIDE, "[1,1]"), (wider, json.dumps([1] * 4001))):
            asked = SearchQuery(ANN, "", model, near)
            found = await texts(conn, asked, await queries.find_nearest(conn, asked))
            assert found == ["three", "four"]
        await conn.execute("DELETE FROM chunk_vectors WHERE model = %s", (MODEL.key,))
    await vectors.build_graphs(pool)
    async with pool.connection() as conn:
        assert await graphs(conn) == {name_graph(WIDE)}


async def graphs(conn: Connection) -> set[str]:
    found = await conn.execute("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")
    return {row[0] for row in await found.fetchall()}


WIDE = VectorModel("wide@2", 2)
ANOTHER = VectorModel("another", 384)


async def test_vectors_of_another_model_are_not_compared(conn: Connection) -> None:
    await read(conn, ANN, passage("text", vector(0)))

    assert await queries.find_nearest(conn, SearchQuery(ANN, "", ANOTHER, vector(0))) == []


@pytest.mark.parametrize("words", ["", "'", "a:*", "!!", "\\", "the of and", "x & | !", "<->"])
async def test_any_words_can_be_asked_for(conn: Connection, words: str) -> None:
    await read(conn, ANN, passage("some text", vector(0)))

    asked = SearchQuery(ANN, words, MODEL, vector(0))

    assert await best(conn, asked) == []
    assert len(await queries.fetch_hits(conn, asked, await queries.find_nearest(conn, asked))) == 1


async def test_a_second_run_replaces_what_the_first_wrote(conn: Connection) -> None:
    job = await read(conn, ANN, passage("old", vector(0)))
    await queries.write_chunks(conn, job, json.dumps([passage("new", vector(0))]))
    asked = SearchQuery(ANN, "", MODEL, vector(0))

    assert await texts(conn, asked, await queries.find_nearest(conn, asked)) == ["new"]


async def test_rows_go_when_the_result_expires(conn: Connection) -> None:
    job = await read(conn, ANN, passage("text", vector(0)))
    field = {"label": "Total", "value": "5", "type": "amount", "normal": {"amount": "5"}}
    await queries.write_fields(
        conn, job, json.dumps([field | {"confidence": 0.9, "page": 1, "box": None}])
    )
    assert await finish(conn, job)
    assert await queries.fields_exist(conn, job.id)

    await results.expire_results(conn, [job.id])

    assert not await queries.fields_exist(conn, job.id)
    assert not await queries.chunks_exist(conn, job.id)
    row = await (await conn.execute("SELECT count(*) FROM chunk_vectors")).fetchone()
    assert row == (0,)


async def test_without_pgvector_words_still_find(conn: Connection) -> None:
    await conn.execute("DROP TABLE chunk_vectors")
    await read(conn, ANN, passage("the text", vector(0)))
    asked = SearchQuery(ANN, "text", MODEL, vector(0))

    assert await queries.find_nearest(conn, asked) == []
    assert await texts(conn, asked, await best(conn, asked)) == ["the text"]


async def test_pgvector_may_come_after_the_migrations(conn: Connection, database_url: str) -> None:
    await conn.execute("DROP EXTENSION vector CASCADE")
    await conn.execute("DROP TABLE chunk_vectors")
    await conn.commit()

    assert await migrate.migrate(database_url) == []

    assert await queries.have_vectors(conn)


HOT = (
    queries.COUNT_WORDS,
    queries.BEST,
    queries.BY_WORDS,
    queries.BY_MEANING,
)
CROWD = """
INSERT INTO chunks (job_id, document_id, owner, position, page, heading, text)
SELECT %(job)s, %(document)s, %(owner)s, 1000 + n, 1, '',
       'common words and number' || n || ' with rare' || n %% 500 || ' inside'
  FROM generate_series(1, 20000) n
"""
CROWD_VECTORS = """
INSERT INTO chunk_vectors (chunk_id, part, document_id, owner, model, embedding)
SELECT id, 1, document_id, owner, 'toy',
       (SELECT array_agg(hashint8(id * 384 + k)::real / 2147483648) FROM generate_series(1, 384) k
       )::halfvec(384)
  FROM chunks WHERE position > 1000
"""


async def test_hot_statements_read_few_pages_of_a_crowd(
    conn: Connection, database_url: str
) -> None:
    job = await read(conn, ANN, passage("rare7 text", vector(0)))
    args = {"job": job.id, "document": job.document_id, "owner": ANN}
    await conn.execute(CROWD, args)
    await conn.execute(CROWD_VECTORS)
    await conn.commit()
    await conn.set_autocommit(True)
    await conn.execute(build_statement(MODEL))
    await conn.execute("VACUUM ANALYZE chunks, chunk_vectors")
    asked = SearchQuery(ANN, "rare7 common", MODEL, vector(0)).args
    asked |= {"query": "'rare7'", "each": ["'rare7'", "'common'"], "weights": [5.0, 0.7]}
    asked |= {"ids": [1, 2, 3], "lexemes": ["rare7", "common"], "common": queries.COMMON}
    with psycopg.connect(database_url) as plain:
        # A graph is one model's, so that statement is never planned for any.
        graph = queries.NEAREST_OF_MANY.format(width=MODEL.width).as_string(plain)
        plans = [plan_of(plain, query, asked, generic=False) for query in (*HOT, graph)]
        assert name_graph(MODEL) in json.dumps(plans[-1].root)
        plans += [plan_of(plain, query, asked, generic=True) for query in HOT]
    for plan in plans:
        assert not {"chunks", "chunk_vectors"} & set(plan.whole_tables)
        assert plan.pages < 8000
