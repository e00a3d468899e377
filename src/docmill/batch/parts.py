"""What a batch leaves: one part for each shard, and, derived from it, its tally and dead letters.

A part is put if there is none yet and is believed from then on, whoever put it. What is derived
may be missing after a crash, and is then derived again.
"""

import asyncio
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from io import BytesIO
from typing import Any, Final

from docmill.batch.arrow import Table, pa, pc, pq
from docmill.batch.manifest import Shard, read_json
from docmill.batch.reader import NoteDocument, TableReader
from docmill.batch.schema import FAILED, OK
from docmill.core import failpoints
from docmill.core.faults import CommandError
from docmill.storage.contract import Store

PARTS: Final = "parts"
TALLIES: Final = "_tallies"
DEAD_LETTERS: Final = "failed"
LETTER: Final = ("key", "document_id", "document_hash", "code", "reason")


@dataclass(frozen=True, slots=True)
class PartTally:
    """What one part has, or all of them together."""

    documents: int = 0
    ok: int = 0
    failed: int = 0
    pages: int = 0
    bytes: int = 0
    cpu_seconds: float = 0.0
    codes: dict[str, int] = field(default_factory=dict[str, int])

    def __add__(self, other: "PartTally") -> "PartTally":
        return PartTally(
            self.documents + other.documents,
            self.ok + other.ok,
            self.failed + other.failed,
            self.pages + other.pages,
            self.bytes + other.bytes,
            round(self.cpu_seconds + other.cpu_seconds, 3),
            dict(Counter(self.codes) + Counter(other.codes)),
        )


def part_key(name: str) -> str:
    return f"{PARTS}/{name}.parquet"


def tally_key(name: str) -> str:
    return f"{TALLIES}/{name}.json"


def letters_key(name: str) -> str:
    return f"{DEAD_LETTERS}/{name}.jsonl"


async def read_shard(
    reader: TableReader, out: Store, shard: Shard, note: NoteDocument = lambda _: None
) -> PartTally:
    """Read its documents and put the part, unless somebody has put it meanwhile."""
    table = await reader.read(shard.documents, note)
    if table["key"].to_pylist() != shard.documents["key"].to_pylist():
        raise AssertionError("a part has the documents of its shard, each once")
    failpoints.hit("batch.read")
    if not await out.create(part_key(shard.name), await asyncio.to_thread(encode_part, table)):
        table = await read_part(out, shard.name)
    failpoints.hit("batch.put")
    return await derive(out, shard.name, table)


async def retry_shard(
    reader: TableReader, out: Store, shard: Shard, note: NoteDocument = lambda _: None
) -> PartTally:
    """Read its failed documents again; the part is replaced whole by one with what came of it."""
    table = await read_part(out, shard.name)
    failed = pc.equal(table["status"], FAILED)
    again = await reader.read(table.filter(failed).select(["key"]), note)
    fresh = iter(again.to_pylist())
    rows = [next(fresh) if row["status"] == FAILED else row for row in table.to_pylist()]
    whole = pa.Table.from_pylist(rows, schema=table.schema)
    await out.delete(tally_key(shard.name))
    await out.put(part_key(shard.name), await asyncio.to_thread(encode_part, whole))
    failpoints.hit("batch.put")
    return await derive(out, shard.name, whole)


def encode_part(table: Table) -> bytes:
    data = BytesIO()
    pq.write_table(table, data, compression="zstd")
    return data.getvalue()


async def read_part(out: Store, name: str) -> Table:
    with await out.file(part_key(name)) as file:
        return await asyncio.to_thread(pq.read_table, file)


async def derive(out: Store, name: str, table: Table) -> PartTally:
    """Of the part that counts: its dead letters first, then its tally, which says that all is."""
    failed = table.filter(pc.equal(table["status"], FAILED))
    if len(failed):
        letters = failed.select(LETTER).to_pylist()
        lines = "".join(json.dumps(letter, ensure_ascii=False) + "\n" for letter in letters)
        await out.put(letters_key(name), lines.encode())
    else:
        await out.delete(letters_key(name))
    tally = count_part(table)
    await out.put(tally_key(name), json.dumps(asdict(tally)).encode())
    return tally


def count_part(table: Table) -> PartTally:
    codes = Counter(code for code in table["code"].to_pylist() if code)
    statuses: Counter[str] = Counter(table["status"].to_pylist())
    return PartTally(
        len(table),
        statuses[OK],
        statuses[FAILED],
        _sum(table, "num_pages"),
        _sum(table, "bytes"),
        round(_sum(table, "cpu_seconds"), 3),
        dict(codes),
    )


def _sum(table: Table, column: str) -> Any:
    return pc.sum(table[column]).as_py() or 0


async def read_tally(out: Store, name: str) -> PartTally:
    """As it was left, or derived from the part. Raises CommandError without a part."""
    if found := await read_json(out, tally_key(name)):
        return PartTally(**found)
    if await out.head(part_key(name)) is None:
        raise CommandError(
            f"The part {part_key(name)} is not there any more.\n"
            "Run the same command again: it is read again."
        )
    return await derive(out, name, await read_part(out, name))
