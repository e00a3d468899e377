"""Vectors of a model that gives 1536 numbers, from the first document on and for an old archive."""

import asyncio
import signal
from pathlib import Path

import httpx2
import pytest

from docmill.db.pool import Pool
from docmill.processes import services as outer
from docmill.reading import embeddings
from doubles import doubling
from openai_double import KEY, OpenAIDouble, settings
from outside import desk, done
from pdfs import make_pdf
from sites import upload_to
from terminal import Ran, Terminal

pytestmark = pytest.mark.anyio

PAGES = 40  # passages: several batches of the command
ARCHIVE = make_pdf(
    [
        [(72, 300, "The lorry broke down in Lyon.")],
        *([(72, 300, f"Soup number {page} is made of leeks.")] for page in range(1, PAGES)),
    ]
)
MODEL = "text-embedding-3-small"
MODELS = "SELECT model, count(DISTINCT chunk_id) FROM chunk_vectors GROUP BY 1 ORDER BY 1"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer, "SEARCH_TIMEOUT", outer.OPENAI_TIMEOUT)


async def search(client: httpx2.AsyncClient, words: str) -> list[str]:
    answer = await client.get("/api/search", params={"q": words, "limit": 1})
    return [hit["text"] for hit in answer.json()["hits"]]


async def count_passages(pool: Pool) -> dict[str, int]:
    async with pool.connection() as conn:
        return dict(await (await conn.execute(MODELS)).fetchall())


async def test_a_model_that_gives_1536_numbers_and_no_others_is_searched_by(
    pool: Pool, tmp_path: Path
) -> None:
    async with doubling(OpenAIDouble(fixed=True)) as double:
        given = settings(double) | {"openai_embedding_width": 0}
        async with desk(pool, tmp_path, "extract", **given) as client:
            await done(client, await upload_to(client, "extract", ARCHIVE))
            assert await search(client, "automobile") == ["The lorry broke down in Lyon."]
    assert await count_passages(pool) == {f"{MODEL}@1536": PAGES}


@pytest.mark.skipif(embeddings.find_folder() is None, reason="the model is not installed")
async def test_an_archive_goes_to_another_model_while_search_goes_on(
    pool: Pool, database_url: str, terminal: Terminal, tmp_path: Path
) -> None:
    async with desk(pool, tmp_path, "extract") as client:
        await done(client, await upload_to(client, "extract", ARCHIVE))
        cookies = dict(client.cookies)
    local, remote = embeddings.MODEL_NAME, f"{MODEL}@1536"
    async with doubling(OpenAIDouble(fixed=True)) as double:
        operator = terminal.with_(
            DATABASE_URL=database_url, DOCMILL_OPENAI_URL=f"{double.url}/v1", OPENAI_API_KEY=KEY,
            DOCMILL_OPENAI_EMBEDDING_MODEL=MODEL, DOCMILL_OPENAI_EMBEDDING_WIDTH="0",
        )  # fmt: skip
        given = settings(double) | {"openai_embedding_width": 0}

        async def found_by(client: httpx2.AsyncClient) -> str:
            heard = len(double.heard("/embeddings"))
            assert await search(client, "broken vehicle") == ["The lorry broke down in Lyon."]
            return remote if len(double.heard("/embeddings")) > heard else local

        async def embed(*words: str, killed_at: str = "") -> Ran:
            failing = operator.with_(DOCMILL_FAILPOINTS=f"{killed_at}=kill" if killed_at else "")
            return await asyncio.to_thread(failing.run, "embed", "--again", "--json", *words)

        async with desk(pool, tmp_path, "extract", **given) as client:
            client.cookies.update(cookies)
            counted = (await embed("--dry-run")).json
            assert (counted["passages"], counted["width"], counted["embedded"]) == (PAGES, 1536, 0)
            assert (await embed(killed_at="embed.added")).code == -signal.SIGKILL
            half = await count_passages(pool)
            assert half[local] == PAGES > half[remote] > 0
            assert await found_by(client) == local
            assert (await embed(killed_at="embed.dropped")).code == -signal.SIGKILL
            assert await found_by(client) == remote
            ended = (await embed()).json
            assert (ended["embedded"], await count_passages(pool)) == (0, {remote: PAGES})
            assert await found_by(client) == remote
            back = (await embed("--model", local)).json
            assert (back["embedded"], await count_passages(pool)) == (PAGES, {local: PAGES})
            assert await found_by(client) == local
        unknown = await embed("--model", "nobody")
    assert (unknown.code, "nobody is not set" in unknown.err) == (1, True)
