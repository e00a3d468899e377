"""The list of a batch: made once, cut into shards, kept as Parquet beside the parts.

A shard is a row group. It is named by its number and by a hash of what is asked for and of its
keys and sizes, so that the same shard has the same name on every machine and after every crash.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from io import BytesIO
from typing import Any, Final
from uuid import uuid4

from docmill.batch.arrow import Table, pa, pq
from docmill.batch.schema import LISTED
from docmill.cli.files import ENDINGS
from docmill.core import failpoints, installed
from docmill.core.faults import DocmillError
from docmill.storage import open_store
from docmill.storage.contract import ObjectInfo, Store

FOLDER: Final = "_manifest"
MANIFEST: Final = "_manifest.json"
# Shards in one file of the list: a file is fetched whole.
SHARDS: Final = 100
DOCUMENTS: Final = 500
# A shard has no more bytes than this, unless one document alone has: its rows lie in memory.
SHARD_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Shard:
    """Some documents that are read together and become one part."""

    number: int
    digest: str
    documents: Table

    @property
    def name(self) -> str:
        return f"{self.number:08d}-{self.digest}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was listed. `listing` is the folder its files lie in, `skipped` what is no document."""

    listing: str
    files: int
    documents: int
    bytes: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of the source are documents. No endings: all are. `limit` is for trials."""

    endings: frozenset[str] = frozenset()
    limit: int | None = None
    shard: int = DOCUMENTS

    def takes(self, found: ObjectInfo) -> bool:
        name = found.key.rpartition("/")[2].lower()
        return bool(name) and (not self.endings or name.endswith(tuple(self.endings)))


def endings_of(accepts: Collection[str]) -> frozenset[str]:
    return frozenset(ending for ending, kind in ENDINGS.items() if kind in accepts)


@dataclass(slots=True)
class Listing:
    """Objects of a source on their way to shards; it counts what it has seen."""

    selection: Selection
    documents: int = 0
    bytes: int = 0
    skipped: int = 0
    _waiting: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _waiting_bytes: int = 0

    async def cut(self, source: Store) -> AsyncIterator[Table]:
        """Shard after shard; memory holds one page and one shard."""
        async for page in source.pages(""):
            for found in page:
                if self.documents == self.selection.limit:
                    break
                if not self.selection.takes(found):
                    self.skipped += 1
                    continue
                if self._is_full(found.bytes):
                    yield self._flush()
                self._add(found)
            else:
                continue
            break
        if self._waiting:
            yield self._flush()

    def _is_full(self, coming: int) -> bool:
        return bool(self._waiting) and (
            len(self._waiting) >= self.selection.shard or self._waiting_bytes + coming > SHARD_BYTES
        )

    def _add(self, found: ObjectInfo) -> None:
        self._waiting.append({"key": found.key, "etag": found.generation, "size": found.bytes})
        self._waiting_bytes += found.bytes
        self.documents += 1
        self.bytes += found.bytes

    def _flush(self) -> Table:
        shard = pa.Table.from_pylist(self._waiting, schema=LISTED)
        self._waiting, self._waiting_bytes = [], 0
        return shard


async def ensure_manifest(
    source: Store, out: Store, selection: Selection, note: Callable[[int], None]
) -> Manifest:
    """The list as it was first made. Of several who list at once, the first to end is believed.

    `note` is told how many documents are listed, shard after shard.
    """
    if found := await read_manifest(out):
        return found
    listing, files = uuid4().hex, 0
    counted = Listing(selection)
    waiting: list[Table] = []
    async for shard in counted.cut(source):
        waiting.append(shard)
        note(counted.documents)
        if len(waiting) == SHARDS:
            await _put_file(out, listing, files, waiting)
            files, waiting = files + 1, []
    if waiting:
        await _put_file(out, listing, files, waiting)
        files += 1
    failpoints.hit("batch.listed")
    made = Manifest(listing, files, counted.documents, counted.bytes, counted.skipped)
    if made.documents:
        await out.create(MANIFEST, json.dumps(asdict(made)).encode())
        return await read_manifest(out) or made
    return made


async def read_manifest(out: Store) -> Manifest | None:
    found = await read_json(out, MANIFEST)
    return Manifest(**found) if found else None


async def read_json(out: Store, key: str) -> dict[str, Any] | None:
    """A small object, if it is there."""
    try:
        with await out.file(key) as file:
            return json.loads(file.read())
    except DocmillError as exc:
        if exc.fault.code != "EXPIRED":
            raise
        return None


async def _put_file(out: Store, listing: str, number: int, shards: list[Table]) -> None:
    await out.put(_file_key(listing, number), await asyncio.to_thread(_encode_shards, shards))


def _file_key(listing: str, number: int) -> str:
    return f"{FOLDER}/{listing}/{number:06d}.parquet"


def _encode_shards(shards: list[Table]) -> bytes:
    data = BytesIO()
    with pq.ParquetWriter(data, LISTED, compression="zstd") as writer:
        for shard in shards:
            writer.write_table(shard, row_group_size=max(1, len(shard)))
    return data.getvalue()


async def read_shards(out: Store, manifest: Manifest, identity: str) -> AsyncIterator[Shard]:
    """All of them in order, one file of the list in memory."""
    number = 0
    for file in range(manifest.files):
        with await out.file(_file_key(manifest.listing, file)) as opened:
            listed = pq.ParquetFile(opened)
            for group in range(listed.num_row_groups):
                table = await asyncio.to_thread(listed.read_row_group, group)
                yield Shard(number, hash_shard(identity, table), table)
                number += 1


def hash_shard(identity: str, documents: Table) -> str:
    digest = hashlib.sha256(identity.encode())
    for key, size in zip(documents["key"].to_pylist(), documents["size"].to_pylist(), strict=True):
        digest.update(f"\n{size} {key}".encode())
    return digest.hexdigest()[:32]


async def drop_other_listings(out: Store, manifest: Manifest) -> None:
    """What somebody listed who was killed, or who came second."""
    async for page in out.pages(FOLDER):
        for found in page:
            if not found.key.startswith(f"{FOLDER}/{manifest.listing}/"):
                await out.delete(found.key)


def list_documents(source: str, pipeline: str, *, shard: int = DOCUMENTS) -> Iterator[Table]:
    """The documents of a source that a pipeline takes, in tables of so many, for an engine."""
    accepts = installed.load_pipeline(pipeline).accepts
    listing = Listing(Selection(endings_of(accepts), shard=shard))
    tables = listing.cut(open_store(source))
    with asyncio.Runner() as runner:
        while (table := runner.run(_next_table(tables))) is not None:
            yield table


async def _next_table(tables: AsyncIterator[Table]) -> Table | None:
    return await anext(tables, None)
