"""A folder as a store: what is hidden, what is still written, and what may not be reached."""

import os
from pathlib import Path

import pytest

from docmill.core.faults import DocmillError
from docmill.storage import open_store
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.local import QUIET_SECONDS

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


async def listed(store: Store) -> list[ObjectInfo]:
    return [stored async for page in store.pages("incoming") for stored in page]


def drop(folder: Path, name: str, data: bytes = b"%PDF-1.7", age: float = 60) -> Path:
    path = folder / "incoming" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    before = path.stat().st_mtime - age
    os.utime(path, (before, before))
    return path


async def test_hidden_files_and_folders_are_not_listed_and_links_are_not_followed(
    store: Store, tmp_path: Path
) -> None:
    drop(tmp_path, "b/deep.pdf")
    drop(tmp_path, "a.pdf")
    drop(tmp_path, ".hidden")
    drop(tmp_path, "._a.pdf")
    drop(tmp_path, ".hidden folder/c.pdf")
    (tmp_path / "incoming" / "link.pdf").symlink_to("/etc/passwd")
    assert [stored.key for stored in await listed(store)] == [
        "incoming/a.pdf",
        "incoming/b/deep.pdf",
        "incoming/link.pdf",
    ]
    found = await store.head("incoming/link.pdf")
    assert found is not None
    assert await store.is_readable(found) is False
    with pytest.raises(DocmillError):
        await store.file("incoming/link.pdf")


async def test_a_file_somebody_has_open_for_writing_is_not_complete(
    store: Store, tmp_path: Path
) -> None:
    path = drop(tmp_path, "a.pdf")
    (found,) = await listed(store)
    with path.open("ab"):
        assert await store.is_complete(found) is False
    assert await store.is_complete(found) is True


async def test_a_file_that_was_written_just_now_is_not_complete_yet(
    store: Store, tmp_path: Path
) -> None:
    drop(tmp_path, "a.pdf", age=-QUIET_SECONDS / 4)
    (found,) = await listed(store)
    assert await store.is_complete(found) is False


async def test_a_note_beside_a_dropped_file_is_its_metadata_and_goes_along(
    store: Store, tmp_path: Path
) -> None:
    path = drop(tmp_path, "a.pdf")
    note = path.with_name(".a.pdf.json")
    note.write_text('{"sender_email": "ann@example.com"}')
    (found,) = await listed(store)
    assert await store.move(found, "processing/1.pdf")
    moved = await store.head("processing/1.pdf")
    assert moved is not None
    assert moved.metadata == {"sender_email": "ann@example.com"}
    assert not note.exists()


async def test_a_note_that_makes_no_sense_is_no_metadata(store: Store, tmp_path: Path) -> None:
    path = drop(tmp_path, "a.pdf")
    path.with_name(".a.pdf.json").write_text("[1, 2")
    found = await store.head("incoming/a.pdf")
    assert found is not None
    assert found.metadata == {}


async def test_a_touched_file_is_another_generation_and_a_moved_one_is_not(
    store: Store, tmp_path: Path
) -> None:
    path = drop(tmp_path, "a.pdf")
    (first,) = await listed(store)
    path.rename(path.with_name("b.pdf"))
    (moved,) = await listed(store)
    assert moved.generation == first.generation
    drop(tmp_path, "b.pdf", age=30)
    (second,) = await listed(store)
    assert second.generation != first.generation


@pytest.mark.parametrize(
    "key", ["../outside", "/etc/passwd", "", "a/../../b", "a//b", "./a", "a/.", "a\0b", "\ud800"]
)
async def test_a_key_never_leads_out_of_the_folder(store: Store, key: str) -> None:
    with pytest.raises(ValueError, match=r"not a key|surrogates not allowed"):
        await store.head(key)


@pytest.mark.parametrize("key", ["a..b", "..a", "a..", "...", "a/b../c"])
async def test_dots_within_a_name_are_part_of_it(store: Store, key: str) -> None:
    await store.put(key, b"x")
    found = await store.head(key)
    assert found is not None
    assert found.key == key
