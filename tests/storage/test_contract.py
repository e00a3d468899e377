"""What every store promises, held against every kind of store there is."""

import asyncio
import os
import resource
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from docmill.core.faults import DocmillError
from docmill.storage.contract import ObjectInfo, Store
from waits import PATIENCE, until

pytestmark = pytest.mark.anyio

KEY = "uploads/ab/cd/one"


async def whole(store: Store, key: str) -> bytes:
    return b"".join([chunk async for chunk in store.chunks(key)])


async def the(store: Store, key: str) -> ObjectInfo:
    found = await store.head(key)
    assert found is not None
    return found


async def listed(store: Store, prefix: str) -> list[ObjectInfo]:
    return [stored async for page in store.pages(prefix) for stored in page]


async def test_what_is_put_is_there_with_its_size_time_and_metadata(store: Store) -> None:
    await store.put(KEY, b"some bytes", metadata={"sender_email": "ann@example.com"})
    found = await the(store, KEY)
    assert (found.key, found.bytes) == (KEY, 10)
    assert found.metadata == {"sender_email": "ann@example.com"}
    assert abs(datetime.now(UTC) - found.changed_at) < timedelta(minutes=1)
    assert await whole(store, KEY) == b"some bytes"


async def test_what_is_not_there_is_told_as_expired_and_may_be_deleted(store: Store) -> None:
    assert await store.head(KEY) is None
    for reading in (whole(store, KEY), store.file(KEY)):
        with pytest.raises(DocmillError) as caught:
            await reading
        assert caught.value.fault.code == "EXPIRED"
    await store.delete(KEY)
    assert await listed(store, "uploads") == []


async def test_a_streamed_object_is_invisible_until_its_commit(store: Store) -> None:
    writer = await store.writer(KEY, metadata={"note": "streamed"})
    await writer.write(b"first ")
    await writer.write(memoryview(b"second"))
    assert (await store.head(KEY), await listed(store, "uploads")) == (None, [])
    await writer.commit()
    assert await whole(store, KEY) == b"first second"
    assert (await the(store, KEY)).metadata == {"note": "streamed"}


async def test_a_stream_that_is_given_up_leaves_nothing(store: Store) -> None:
    writer = await store.writer(KEY)
    await writer.write(b"x" * 1000)
    await writer.abort()
    assert await store.head(KEY) is None


async def test_large_objects_pass_through_with_little_memory(store: Store) -> None:
    block = os.urandom(1 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    writer = await store.writer(KEY)
    for _ in range(64):
        await writer.write(block)
    await writer.commit()
    count = 0
    async for chunk in store.chunks(KEY):
        assert chunk[: 1 << 16] in block + block
        count += len(chunk)
    with await store.file(KEY) as file:
        assert file.seek(0, os.SEEK_END) == count == 64 << 20
    await store.delete(KEY)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # Our strict double keeps its objects in this very process.
    limit = (56 << 10) if "gs://" not in store.name else (400 << 10)
    assert grown < limit, f"{grown} KiB more"


async def test_writing_again_replaces_it_and_gives_a_new_generation(store: Store) -> None:
    await store.put(KEY, b"one", metadata={"a": "1"})
    first = await the(store, KEY)
    assert (await the(store, KEY)).generation == first.generation
    await store.put(KEY, b"another")
    second = await the(store, KEY)
    assert second.generation != first.generation
    assert second.metadata == {}
    assert await whole(store, KEY) == b"another"


async def test_a_listing_knows_the_generation_that_head_knows(store: Store) -> None:
    await store.put(KEY, b"one")
    (found,) = await listed(store, "uploads")
    assert (found.key, found.bytes) == (KEY, 3)
    assert found.generation == (await the(store, KEY)).generation


async def test_of_many_who_create_a_key_one_succeeds(store: Store, kind: str) -> None:
    if kind == "gcs":
        pytest.skip("this emulator ignores preconditions; the strict one is asked instead")
    told = await asyncio.gather(*(store.create(KEY, f"{n}".encode()) for n in range(8)))
    assert sorted(told) == [False] * 7 + [True]
    assert await whole(store, KEY) == f"{told.index(True)}".encode()


async def test_a_listing_comes_in_pages_in_the_order_of_keys(
    store: Store, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("local", "objects", "signed", "gcs", "paired"):
        monkeypatch.setattr(f"docmill.storage.{module}.PAGE", 3)
    keys = [f"incoming/{n:02}.pdf" for n in range(8)]
    await asyncio.gather(*(store.put(key, b"x") for key in [*keys, "incoming2/no", "archive/no"]))
    pages = [[stored.key for stored in page] async for page in store.pages("incoming")]
    assert [key for page in pages for key in page] == keys
    if kind != "gcs":  # this emulator knows no pages
        assert [len(page) for page in pages] == [3, 3, 2]
    everything = [stored.key for stored in await listed(store, "")]
    assert everything == sorted([*keys, "incoming2/no", "archive/no"])


async def test_a_move_takes_bytes_and_metadata_along_and_adds_to_them(
    store: Store, kind: str
) -> None:
    await store.put("incoming/a.pdf", b"%PDF", metadata={"sender_email": "ann@example.com"})
    found = await the(store, "incoming/a.pdf")
    assert await store.move(found, "failed/2026/11/a.pdf", metadata={"error_code": "BAD_PDF"})
    assert await listed(store, "incoming") == []
    assert await whole(store, "failed/2026/11/a.pdf") == b"%PDF"
    moved = await the(store, "failed/2026/11/a.pdf")
    added = {} if kind == "gcs" else {"error_code": "BAD_PDF"}  # this emulator adds nothing
    assert moved.metadata == {"sender_email": "ann@example.com", **added}
    assert await store.move(moved, "archive/2026/11/a.pdf", metadata=dict.fromkeys(added, ""))
    again = await the(store, "archive/2026/11/a.pdf")
    assert again.metadata == {"sender_email": "ann@example.com"}


async def test_a_move_may_be_repeated_and_says_when_there_is_nothing_to_move(
    store: Store,
) -> None:
    await store.put("incoming/a.pdf", b"one")
    found = await the(store, "incoming/a.pdf")
    assert await store.move(found, "processing/a.pdf")
    assert await store.move(found, "processing/a.pdf")
    assert await store.move(found, "processing/b.pdf") is False
    assert [one.key for one in await listed(store, "processing")] == ["processing/a.pdf"]


async def test_a_move_of_an_old_generation_leaves_the_new_one_alone(
    store: Store, kind: str
) -> None:
    if kind == "gcs":
        pytest.skip("this emulator ignores preconditions; the strict one is asked instead")
    await store.put("incoming/a.pdf", b"one")
    old = await the(store, "incoming/a.pdf")
    await store.put("incoming/a.pdf", b"two, newer")
    assert await store.move(old, "processing/a.pdf") is False
    assert await store.head("processing/a.pdf") is None
    assert await whole(store, "incoming/a.pdf") == b"two, newer"


async def test_a_move_that_stopped_half_way_ends_although_a_new_generation_came(
    store: Store, kind: str
) -> None:
    if kind == "gcs":
        pytest.skip("this emulator ignores preconditions; the strict one is asked instead")
    await store.put("incoming/a.pdf", b"one")
    old = await the(store, "incoming/a.pdf")
    await store.put("processing/a.pdf", b"one")  # copied, and then the process died
    await store.put("incoming/a.pdf", b"two, newer")
    assert await store.move(old, "processing/a.pdf") is True
    assert await whole(store, "incoming/a.pdf") == b"two, newer"
    assert await whole(store, "processing/a.pdf") == b"one"


async def test_a_signed_address_opens_one_object_for_a_while(store: Store, kind: str) -> None:
    await store.put(KEY, b"for your eyes")
    url = await store.signed_url(KEY, expires=timedelta(hours=1))
    brief = await store.signed_url(KEY, expires=timedelta(seconds=1))
    if url is None or brief is None:
        assert kind in {"local", "gcs", "paired"}  # a folder has no addresses; no key, no signature
        return
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        assert (await client.get(url)).content == b"for your eyes"
        if kind == "s3":  # moto opens whatever is signed; what was signed says when it ends
            assert "X-Amz-Expires=1&" in brief
            return
        assert (await client.get(url.replace("one", "two"))).status_code in {403, 404}

        async def is_over() -> bool:
            return (await client.get(brief)).status_code in {400, 403}

        await until(is_over)
        assert (await client.get(url)).status_code == 200


async def test_a_signed_address_takes_one_object_for_a_while(store: Store, kind: str) -> None:
    signed = await store.signed_put(KEY, 9, expires=timedelta(hours=1))
    if signed is None:
        assert kind in {"local", "gcs", "paired"}  # as above
        return
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        headers = dict(signed.headers)
        answer = await client.put(signed.url, content=b"from afar", headers=headers)
        assert answer.is_success, answer.text
        assert await whole(store, KEY) == b"from afar"
        if kind == "gcs_strict":  # which alone refuses another size by itself
            assert (await client.put(signed.url, content=b"x", headers=headers)).is_error
        if kind != "s3":  # moto takes whatever is signed
            elsewhere = signed.url.replace("one", "two")
            assert (await client.put(elsewhere, content=b"from afar", headers=headers)).is_error


async def test_a_file_for_a_child_is_fetched_through_a_signed_address(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put(KEY, b"for a child")
    signed = await store.signed_url(KEY, expires=timedelta(minutes=1))
    if signed is None:
        pytest.skip("this store signs nothing")

    def refuse(*_: object) -> object:
        raise AssertionError("the store's own rights were used")

    monkeypatch.setattr("docmill.storage.objects.ObjectDriver.read", refuse)
    monkeypatch.setattr("docmill.storage.gcs.GcsDriver.read", refuse)
    with await store.file(KEY) as file:
        assert file.read() == b"for a child"
        with pytest.raises(OSError):  # noqa: PT011  a child may read it, and no more
            os.write(file.fileno(), b"x")


async def test_its_name_holds_no_options(store: Store, address: str) -> None:
    assert store.name == address.partition("?")[0]
