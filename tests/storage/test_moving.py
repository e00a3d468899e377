"""Objects on their way from one store to another: found at every moment, and never other bytes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from docmill.storage import moving, open_store
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.moving import MoveOutcome, measure_store, move_objects
from docmill.storage.paired import PairedStore

pytestmark = pytest.mark.anyio

BYTES = {
    **{f"uploads/ab/{number:02}": bytes([number]) * 50_000 for number in range(12)},
    "results/ab/one.1.data.gz": b"packed",
    "archive/events/2026/11/1-9.jsonl.gz": b"lines",
    "links/secret": b"x" * 32,
}


@pytest.fixture
def disk(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "disk"))


@pytest.fixture
async def cloud(addresses: dict[str, str]) -> AsyncIterator[Store]:
    url, _, options = addresses["s3"].partition("?")
    opened = open_store(f"{url}/{uuid4()}?{options}")
    yield opened
    await opened.close()


async def whole(store: Store, key: str) -> bytes:
    return b"".join([chunk async for chunk in store.chunks(key)])


async def listed(store: Store) -> list[str]:
    pages = [store.pages(folder) for folder in moving.FOLDERS]
    return [found.key for each in pages async for page in each for found in page]


async def move(source: Store, target: Store) -> list[MoveOutcome]:
    ended: list[MoveOutcome] = []
    await move_objects(source, target, lambda _, outcome: ended.append(outcome))
    return ended


async def test_everything_goes_to_the_cloud_and_back_and_is_found_at_every_moment(
    disk: Store, cloud: Store
) -> None:
    for key, data in BYTES.items():
        await disk.put(key, data, metadata={"note": "kept"})
    assert sum(total.objects for total in (await measure_store(disk)).values()) == len(BYTES)
    for source, target in ((disk, cloud), (cloud, disk)):
        pair = PairedStore(target, source)
        moves = asyncio.create_task(move(source, target))
        while not moves.done():
            for key, data in BYTES.items():
                assert await whole(pair, key) == data
            assert len(set(await listed(pair))) == len(BYTES)
        assert await moves == [MoveOutcome.MOVED] * len(BYTES)
        assert await listed(source) == []
        for key, data in BYTES.items():
            assert await whole(target, key) == data
        found = await target.head("links/secret")
        assert found
        assert found.metadata == {"note": "kept"}


async def test_other_bytes_under_the_same_key_are_left_alone_on_both_sides(
    disk: Store, cloud: Store
) -> None:
    await disk.put("uploads/one", b"old")
    await disk.put("uploads/two", b"the same")
    await cloud.put("uploads/one", b"new")
    await cloud.put("uploads/two", b"the same")
    assert sorted(await move(disk, cloud)) == [MoveOutcome.DIFFERS, MoveOutcome.MOVED]
    assert (await whole(disk, "uploads/one"), await listed(disk)) == (b"old", ["uploads/one"])
    assert await whole(cloud, "uploads/one") == b"new"


async def test_what_is_deleted_while_it_is_copied_does_not_come_back(
    disk: Store, cloud: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleted by docmill at the worst moment: when its copy is there and was compared."""
    pair = PairedStore(cloud, disk)
    await disk.put("uploads/one", b"bytes")
    leave = moving._leave  # pyright: ignore[reportPrivateUsage]

    async def delete_then_leave(
        source: Store, target: Store, stored: ObjectInfo, *, copied: bool
    ) -> MoveOutcome:
        await pair.delete("uploads/one")
        await target.put("uploads/one", b"bytes")  # as if the copy had come after the deletion
        return await leave(source, target, stored, copied=copied)

    monkeypatch.setattr(moving, "_leave", delete_then_leave)
    assert await move(disk, cloud) == [MoveOutcome.GONE]
    assert await pair.head("uploads/one") is None
