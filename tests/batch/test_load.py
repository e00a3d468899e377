"""Parts of a batch loaded into a database: whole, once, and again after a crash."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from docmill.batch import load
from docmill.batch.arrow import Table, pa
from docmill.batch.parts import derive, encode_part, part_key
from docmill.batch.reader import Reader
from docmill.core.faults import CommandError
from docmill.core.owners import OwnerKey
from docmill.db.pool import Pool
from docmill.jobs import results
from docmill.queue import enqueue
from docmill.storage.local import LocalStore
from notes import GERMAN, note
from terminal import letter

ANN, BOB = OwnerKey("user:ann"), OwnerKey("user:bob")


class CountingWatch:
    """Counts what it is told."""

    def __init__(self) -> None:
        self.skipped: int = 0

    def list(self, documents: int) -> None: ...
    def expect(self, documents: int) -> None: ...
    def skip(self, documents: int) -> None:
        self.skipped += documents

    def add(self, documents: int, failed: int) -> None: ...


def read(pipeline: str, **documents: bytes) -> Table:
    reader = Reader(pipeline, rows=True)
    try:
        return reader(pa.table({"key": [*documents], "content": [*documents.values()]}))
    finally:
        reader.close()


async def put(out: LocalStore, name: str, table: Table) -> None:
    await out.put(part_key(name), encode_part(table))
    await derive(out, name, table)


async def ask(pool: Pool, query: Any) -> list[tuple[Any, ...]]:
    async with pool.connection() as conn:
        return await (await conn.execute(query)).fetchall()


@pytest.mark.anyio
async def test_parts_become_documents_results_fields_chunks_and_trades_once(
    pool: Pool, tmp_path: Path
) -> None:
    out, store = LocalStore(tmp_path / "out"), LocalStore(tmp_path / "store")
    texts = read("extract", a=letter("Total: 1.00"), b=letter("Total: 2.00"), bad=b"%PDF-1.4 cut")
    await put(out, "00000000-a", texts)
    await put(out, "00000001-b", read("trades", note=note(*GERMAN)))
    target = load.LoadTarget(pool, store, ANN, None, timedelta(days=7))
    assert await load.load_parts(out, target, CountingWatch()) == 3
    statuses = "SELECT pipeline, status FROM jobs ORDER BY 1"
    done = [("extract", "complete"), ("extract", "complete"), ("trades", "complete")]
    assert await ask(pool, statuses) == done
    ids = {str(row[0]) for row in await ask(pool, "SELECT id FROM documents")}
    assert ids & {*texts["document_id"].to_pylist()} == {*texts["document_id"].to_pylist()[:2]}
    assert await ask(pool, "SELECT count(DISTINCT document_id) FROM chunks") == [(2,)]
    assert await ask(pool, "SELECT count(*) > 1 FROM document_fields") == [(True,)]
    assert await ask(pool, "SELECT owner, isin FROM trades") == [(ANN, "DE0007236101")]
    await check_result(pool, store, texts.to_pylist()[0])
    # Once more, with a part that says more than before: what failed was read again.
    again = read("extract", a=letter("Total: 1.00"), b=letter("Total: 2.00"), bad=letter("3"))
    await put(out, "00000000-a", again)
    watch = CountingWatch()
    assert await load.load_parts(out, target, watch) == 1
    assert watch.skipped == 1, "a part that is as it was is not looked at"
    assert await load.load_parts(out, target, CountingWatch()) == 0
    assert await ask(pool, "SELECT count(*), count(DISTINCT document_id) FROM jobs") == [(4, 4)]
    other = load.LoadTarget(pool, store, BOB, None, timedelta(days=7))
    with pytest.raises(CommandError, match="were loaded for user:ann"):
        await load.load_parts(out, other, CountingWatch())


async def check_result(pool: Pool, store: LocalStore, row: dict[str, Any]) -> None:
    async with pool.connection() as conn:
        job = await enqueue.find_job(conn, load.name_job(row, ANN, None))
        assert job is not None
        found = await results.require_result(conn, job)
    data = await results.read_data(pool, store, found.key)
    assert data == json.loads(row["contents"])
    assert job.summary == json.loads(row["summary"])
