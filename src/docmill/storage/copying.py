"""Objects of one store copied to another, while the first is in use; nothing is deleted."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from docmill.core.faults import DocmillError
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.moving import AT_ONCE, FOLDERS, copy_object

# Also what is under way: endings that the database was not told yet, and direct uploads.
ALL_FOLDERS: Final = (*FOLDERS, "unsettled", "direct")

# Told of each object, and whether it was copied now or lay there already.
Note = Callable[[ObjectInfo, bool], None]


async def copy_store(source: Store, target: Store, note: Note) -> None:
    """Objects never change once they are written, so one that lies there is left as it is.

    One that docmill deletes meanwhile is left out: its row is gone too, or goes with it.
    """
    async for batch in _list_batches(source):
        copied = await asyncio.gather(*(_copy_new(source, target, one) for one in batch))
        for stored, new in zip(batch, copied, strict=True):
            if new is not None:
                note(stored, new)


async def _list_batches(source: Store) -> AsyncIterator[list[ObjectInfo]]:
    for folder in ALL_FOLDERS:
        async for page in source.pages(folder):
            for at in range(0, len(page), AT_ONCE):
                yield page[at : at + AT_ONCE]


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
