"""A whole batch in a bucket: listed, killed, gone on with, tried again, loaded."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

import pdfs
from docmill.batch.arrow import pq
from docmill.storage import open_store
from terminal import Ran, Terminal, letter

FAILED = {"cut.pdf": "BAD_PDF", "empty.pdf": "EMPTY_FILE"}
COUNT = "SELECT count(*), count(DISTINCT document_id) FROM jobs WHERE status = 'complete'"


class Bucket:
    """What lies below a prefix, looked at by its plain functions."""

    def __init__(self, url: str) -> None:
        self.url: str = url

    def put(self, **documents: bytes) -> None:
        asyncio.run(self._put(documents))

    async def _put(self, documents: dict[str, bytes]) -> None:
        store = open_store(self.url)
        for name, data in documents.items():
            await store.put(f"{name}.pdf", data)
        await store.close()

    def read(self, folder: str) -> dict[str, bytes]:
        return asyncio.run(self._read(folder))

    async def _read(self, folder: str) -> dict[str, bytes]:
        store, found = open_store(self.url), dict[str, bytes]()
        async for page in store.pages(folder):
            for each in page:
                with await store.file(each.key) as file:
                    found[each.key] = file.read()
        await store.close()
        return found

    def rows(self, folder: Path) -> dict[str, dict[str, Any]]:
        """Of all parts by key, which must be there once."""
        found: list[dict[str, Any]] = []
        for number, data in enumerate(self.read("parts").values()):
            (folder / f"{number}.parquet").write_bytes(data)
            found += pq.read_table(folder / f"{number}.parquet").to_pylist()
        assert len({row["key"] for row in found}) == len(found)
        return {row["key"]: row for row in found}

    def letters(self) -> dict[str, str]:
        lines = b"".join(self.read("failed").values()).splitlines()
        return {letter["key"]: letter["code"] for letter in map(json.loads, lines)}


@pytest.fixture
def places(addresses: dict[str, str]) -> tuple[Bucket, Bucket]:
    url, _, options = addresses["s3"].partition("?")
    run = uuid4()
    source, out = (Bucket(f"{url}/{run}/{name}?{options}") for name in ("in", "out"))
    good = {f"letter{number}": letter(f"Total: {number}.00") for number in range(5)}
    source.put(**good, cut=pdfs.truncated_pdf(), empty=b"")
    return source, out


def finish(ran: Ran) -> dict[str, Any]:
    assert ran.code == 0, ran.err
    return json.loads(ran.out.splitlines()[-1])


def test_a_batch_in_a_bucket_is_killed_gone_on_with_tried_again_and_loaded_once(
    terminal: Terminal, places: tuple[Bucket, Bucket], database_url: str, tmp_path: Path
) -> None:
    source, out = places
    words = ("batch", source.url, out.url, "--pipeline", "extract", "--shard", "2", "--jobs", "2")
    words += ("--rows", "--json")
    assert terminal.with_(DOCMILL_FAILPOINTS="batch.put=kill").run(*words).code == -9
    seen = out.read("parts")
    assert seen
    assert not out.read("_SUCCESS")

    told = finish(terminal.run(*words))
    assert (told["listed"], told["ok"], told["failed"]) == (7, 5, 2)
    assert told["read_now"] < 7
    after = out.read("parts")
    assert {name: after[name] for name in seen} == seen, "what was put stays as it was"
    assert len(out.read("_manifest")) == 1
    assert out.letters() == FAILED
    assert len(out.rows(tmp_path)) == 7

    source.put(cut=letter("Total: 9.00"))
    told = finish(terminal.run(*words, "--retry-failed"))
    assert (told["ok"], told["failed"], told["read_now"]) == (6, 1, 2)
    assert out.letters() == {"empty.pdf": "EMPTY_FILE"}
    assert "9.00" in out.rows(tmp_path)["cut.pdf"]["contents"]

    database = terminal.with_(DOCMILL_DATA=str(tmp_path / "data"))
    into = ("--into", database_url, "--owner", "user:ann")
    assert finish(database.run(*words, *into))["documents"] == 6
    assert finish(database.run(*words, *into))["documents"] == 0
    with psycopg.connect(database_url) as conn:
        assert conn.execute(COUNT).fetchone() == (6, 6)
