"""Objects go from one store to another, one by one, while both are read; moved, or copied.

What is still to do is what still lies at the source: a move that was killed goes on by starting
again. An object leaves its source after its copy was read back and has the same hash.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from docmill.core import failpoints
from docmill.core.cleanup import on_failure
from docmill.core.faults import DocmillError
from docmill.storage.contract import Metadata, ObjectInfo, Store

# All that docmill writes. A watched bucket in the same place has folders of its own.
FOLDERS: Final = ("uploads", "results", "archive/events", "links")
# Also what is under way: endings that the database was not told yet, and direct uploads.
ALL_FOLDERS: Final = (*FOLDERS, "unsettled", "direct")
AT_ONCE: Final = 8


class MoveOutcome(StrEnum):
    MOVED = "moved"
    GONE = "gone"  # deleted by docmill meanwhile
    DIFFERS = "differs"  # other bytes lie under its key at the target: both are left alone


@dataclass(frozen=True, slots=True)
class StoredTotal:
    objects: int
    bytes: int


async def measure_store(store: Store) -> dict[str, StoredTotal]:
    """What there is to move, by folder."""
    found: dict[str, StoredTotal] = {}
    for folder in FOLDERS:
        sizes = [stored.bytes async for page in store.pages(folder) for stored in page]
        found[folder] = StoredTotal(len(sizes), sum(sizes))
    return found


NoteMove = Callable[[ObjectInfo, MoveOutcome], None]


async def move_objects(source: Store, target: Store, note: NoteMove) -> None:
    """Everything, and then what came meanwhile, until nothing is found that moves."""
    differing: set[str] = set()
    found = True
    while found:
        found = False
        async for batch in _list_batches(source, differing):
            found = True
            ended = await asyncio.gather(*(move_object(source, target, one) for one in batch))
            outcomes = list(zip(batch, ended, strict=True))
            differing |= {one.key for one, outcome in outcomes if outcome is MoveOutcome.DIFFERS}
            for stored, outcome in outcomes:
                note(stored, outcome)


async def _list_batches(
    source: Store, skipped: Collection[str] = (), *, folders: Sequence[str] = FOLDERS
) -> AsyncIterator[list[ObjectInfo]]:
    for folder in folders:
        async for page in source.pages(folder):
            left = [stored for stored in page if stored.key not in skipped]
            for at in range(0, len(left), AT_ONCE):
                yield left[at : at + AT_ONCE]


async def move_object(source: Store, target: Store, listed: ObjectInfo) -> MoveOutcome:
    """Copy, read the copy back, then delete; at every moment it is whole in one of the two."""
    key = listed.key
    try:
        copied = await target.head(key) is None
        digest = await (copy_object(source, target, key) if copied else _hash(source, key))
        same = await _hash(target, key) == digest
    except DocmillError as exc:
        if exc.fault.code != "EXPIRED":
            raise
        return MoveOutcome.GONE  # docmill deletes it, here or there
    if not same:
        if copied:
            await target.delete(key)
            raise DocmillError("IO_ERROR", f"the copy of {key} is not what was copied")
        return MoveOutcome.DIFFERS
    failpoints.hit("move.copied")
    return await _leave(source, target, listed, copied=copied)


async def _leave(source: Store, target: Store, listed: ObjectInfo, *, copied: bool) -> MoveOutcome:
    """The object leaves its source. Where docmill deleted it there, its copy goes as well."""
    now = await source.head(listed.key)
    if now is None:
        if copied:
            await target.delete(listed.key)
        return MoveOutcome.GONE
    if now.generation != listed.generation:
        return MoveOutcome.DIFFERS
    await source.delete(listed.key)
    failpoints.hit("move.left")
    return MoveOutcome.MOVED


async def copy_object(source: Store, target: Store, key: str) -> str:
    """The hash of what was read and written."""
    writer = await target.writer(key, metadata=await _read_metadata(source, key))
    digest = hashlib.sha256()
    async with on_failure(writer.abort):
        async for chunk in source.chunks(key):
            digest.update(chunk)
            await writer.write(chunk)
    await writer.commit()
    return digest.hexdigest()


async def _read_metadata(store: Store, key: str) -> Metadata:
    found = await store.head(key)
    return (found.metadata or {}) if found else {}


async def _hash(store: Store, key: str) -> str:
    digest = hashlib.sha256()
    async for chunk in store.chunks(key):
        digest.update(chunk)
    return digest.hexdigest()


# Told of each object, and whether it was copied now or lay there already.
NoteCopy = Callable[[ObjectInfo, bool], None]


async def copy_store(source: Store, target: Store, note: NoteCopy) -> None:
    """Objects of one store copied to another, while the first is in use; nothing is deleted.

    Objects never change once they are written, so one that lies there is left as it is.

    One that docmill deletes meanwhile is left out: its row is gone too, or goes with it.
    """
    async for batch in _list_batches(source, folders=ALL_FOLDERS):
        copied = await asyncio.gather(*(_copy_new(source, target, one) for one in batch))
        for stored, new in zip(batch, copied, strict=True):
            if new is not None:
                note(stored, new)


async def _copy_new(source: Store, target: Store, stored: ObjectInfo) -> bool | None:
    there = await target.head(stored.key)
    if there is not None and there.bytes == stored.bytes:
        return False
    try:
        await copy_object(source, target, stored.key)
    except DocmillError as exc:
        if exc.fault.code != "EXPIRED":
            raise
        return None
    return True
