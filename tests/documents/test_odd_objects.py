"""No object stops the poller, whatever its name, its metadata and its bytes."""

import json
import os
import re
import socket
import stat
import tempfile
from collections.abc import AsyncIterator, Generator
from contextlib import chdir, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import anyio
import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from psycopg import sql
from structlog.testing import capture_logs

from docmill.core.faults import DocmillError
from docmill.db.pool import Pool
from docmill.documents import buckets, poller
from docmill.documents.poller import Bucket, is_object, poll
from docmill.documents.reconcile import reconcile, sweep
from docmill.storage import open_store, retry
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.names import key_of, name_of
from docmill.storage.retry import StoreError
from docmill.storage.signed import url_path
from documents.buckets import a_bucket, confirmation, drop, objects
from storage.strict_gcs import strict_gcs

pytestmark = pytest.mark.anyio

PDF = confirmation()
NO_LIMITS = settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NAMES = (
    b"Acme Inc..pdf",
    b"..pdf",
    b"...pdf",
    b".pdf",
    b".hidden.pdf",
    "Müller.pdf".encode("latin-1"),
    b"\xff\xfe\x80.pdf",
    b"two\nlines.pdf",
    b"tab\tand\x1bescape\x7f.pdf",
    "\u202efdp.exe.pdf".encode(),
    "\uef80\uef00.pdf".encode(),
    b"\xed\xa0\x80.pdf",
    b"x" * 250 + b".pdf",
    b"x" * 251 + b".pdf",
    "ü".encode() * 125 + b".pdf",
    b"%2e%2e%2f.pdf",
    b"a\\b\\..\\c.pdf",
    b"' OR 1=1; --.pdf",
    b"<script>alert(1)</script>.pdf".replace(b"/", b"_"),
    b"-rf.pdf",
    b"CON.pdf",
    b" .pdf",
    b"a.PDF ",
    b"name without ending",
)
SIDECARS = (
    b'{"sender_email": "a\\u0000b@example.com"}',
    b'{"sender_email": "\\ud800@example.com", "\\u0000": "\\udfff"}',
    b"[" * 200_000,
    b'{"a":' * 60_000,
    b'{"sender_email": "' + b"x" * 50_000 + b'"}',
    b'{"sender_email": {"a": [1, 2]}, "b": null, "c": 1e999}',
    b'{"sender_email": ' + b"9" * 10_000 + b"}",
    b"\xff\xfe\x00",
    b"",
    b"null",
    b'{"original_filename": "\\u202e\\u0000../../x.pdf"}',
    b'{"error_code": "", "document_id": "x", "failed_at": "never"}',
)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)


@pytest.fixture
def bucket(pool: Pool, tmp_path: Path) -> Bucket:
    return a_bucket(pool, tmp_path)


async def rows(pool: Pool, *columns: str) -> list[tuple[Any, ...]]:
    wanted = sql.SQL(", ").join(map(sql.Identifier, columns))
    query = sql.SQL("SELECT {} FROM bucket_objects ORDER BY registered_at, key")
    async with pool.connection() as conn:
        return await (await conn.execute(query.format(wanted))).fetchall()


def drop_bytes(folder: Path, name: bytes, data: bytes = PDF) -> None:
    drop(folder, os.fsdecode(name), data)


async def one_state(pool: Pool) -> tuple[str, str | None]:
    ((state, code),) = await rows(pool, "state", "code")
    return state, code


async def test_every_name_a_folder_can_hold_is_taken_or_filed_and_others_go_on(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    for name in NAMES:
        drop_bytes(tmp_path, name)
    drop(tmp_path, "z-last.pdf")
    with capture_logs() as logs:
        await poll(bucket)
        await poll(bucket)
    found = await rows(pool, "key", "state", "code")
    assert len(found) == len(NAMES) + 1
    assert all(
        state == "queued" or (state, code) == ("failed", "NOT_PDF") for _, state, code in found
    )
    assert [key for key, state, _ in found if state == "failed"] == [
        "incoming/a.PDF ",
        "incoming/name without ending",
    ]
    assert not [key for key in objects(tmp_path) if key.startswith("incoming")]
    assert "xxxx" not in json.dumps(logs, default=str)
    assert "Acme" not in json.dumps(logs, default=str)
    await sweep(bucket)
    assert all(not each.unknown and not each.missing for each in await reconcile(bucket))


async def test_a_latin_1_name_is_shown_as_its_sender_wrote_it(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop_bytes(tmp_path, "Müller & Söhne.pdf".encode("latin-1"))
    await poll(bucket)
    async with pool.connection() as conn:
        row = await (await conn.execute("SELECT original_filename FROM documents")).fetchone()
    assert row == ("Müller & Söhne.pdf",)


@pytest.mark.parametrize("number", range(len(SIDECARS)))
async def test_every_note_beside_a_file_is_borne(
    bucket: Bucket, pool: Pool, tmp_path: Path, number: int
) -> None:
    path = drop(tmp_path, "a.pdf")
    path.with_name(".a.pdf.json").write_bytes(SIDECARS[number])
    await poll(bucket)
    assert await one_state(pool) == ("queued", None)
    refused = drop(tmp_path, "b.txt", b"no")
    refused.with_name(".b.txt.json").write_bytes(SIDECARS[number])
    await poll(bucket)
    (key,) = [key for key in objects(tmp_path) if key.startswith("failed/")]
    found = await bucket.store.head(key)
    assert found is not None
    assert (found.metadata or {})["error_code"] == "NOT_PDF"
    assert not list((tmp_path / "bucket" / "incoming").iterdir())


async def test_a_huge_note_is_not_read_and_a_folder_in_its_place_is_none(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    huge = drop(tmp_path, "a.pdf").with_name(".a.pdf.json")
    with huge.open("wb") as file:
        file.truncate(50 << 20)
    drop(tmp_path, "b.pdf").with_name(".b.pdf.json").mkdir()
    os.mkfifo(drop(tmp_path, "c.pdf").with_name(".c.pdf.json"))
    drop(tmp_path, "d.pdf").with_name(".d.pdf.json").symlink_to("/dev/zero")
    await poll(bucket)
    assert await rows(pool, "state", "code") == [("queued", None)] * 4


async def test_what_is_no_plain_file_is_filed_as_failed_and_listed(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    incoming = drop(tmp_path, "good.pdf").parent
    (incoming / "link.pdf").symlink_to("/etc/passwd")
    (incoming / "dangling.pdf").symlink_to("nowhere")
    (incoming / "folder.pdf").mkdir()
    (incoming / "folder.pdf" / "inside.pdf").write_bytes(PDF)
    (incoming / "folder link.pdf").symlink_to(incoming / "folder.pdf")
    os.mkfifo(incoming / "pipe.pdf")
    # From inside the folder: the whole path may be too long for a socket.
    with socket.socket(socket.AF_UNIX) as listener, chdir(incoming):
        listener.bind("socket.pdf")
    for path in (*incoming.iterdir(), incoming / "folder.pdf" / "inside.pdf"):
        os.utime(path, (1, 1), follow_symlinks=False)
    await poll(bucket)
    found = {key: (state, code) for key, state, code in await rows(pool, "key", "state", "code")}
    assert found == {
        "incoming/good.pdf": ("queued", None),
        "incoming/folder.pdf/inside.pdf": ("queued", None),
        "incoming/link.pdf": ("failed", "UNREADABLE"),
        "incoming/dangling.pdf": ("failed", "UNREADABLE"),
        "incoming/folder link.pdf": ("failed", "UNREADABLE"),
        "incoming/pipe.pdf": ("failed", "EMPTY_FILE"),
        "incoming/socket.pdf": ("failed", "EMPTY_FILE"),
    }
    assert all(not each.unknown and not each.missing for each in await reconcile(bucket))


NOBODY = 65534


@contextmanager
def plain_user(folder: Path) -> Generator[None]:
    """Root may read everything: for so long this process is somebody else, who owns the folder."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_a_file_nobody_lets_us_read_is_filed_as_failed(pool: Pool) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # where everybody may go
        folder = Path(name)
        bucket = a_bucket(pool, folder)
        drop(folder, "a.pdf").chmod(0)
        drop(folder, "b.pdf")
        with plain_user(folder):
            with pytest.raises(PermissionError):
                (folder / "bucket" / "incoming" / "a.pdf").read_bytes()
            await poll(bucket)
        assert await rows(pool, "state", "code") == [("failed", "UNREADABLE"), ("queued", None)]


async def test_a_very_deep_file_is_taken_with_its_name(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    deep = tmp_path / "bucket" / "incoming"
    deep.mkdir(parents=True)
    here = os.open(deep, os.O_RDONLY)
    for number in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
        if number in {600, 1400}:
            fd = os.open(f"Deep {number}.pdf", os.O_CREAT | os.O_WRONLY, dir_fd=here)
            os.write(fd, confirmation(str(number)))
            os.utime(fd, (1, 1))
            os.close(fd)
    os.close(here)
    for _ in range(2):
        await poll(bucket)
    await anyio.run_process(["rm", "-rf", str(deep)])  # too deep for Python's own way
    async with pool.connection() as conn:
        found = await (await conn.execute("SELECT original_filename FROM documents")).fetchall()
    assert sorted(found) == [("Deep 1400.pdf",), ("Deep 600.pdf",)]


async def test_a_refused_object_tells_when_and_why(
    bucket: Bucket, pool: Pool, tmp_path: Path
) -> None:
    drop(tmp_path, "notes\u202e.txt", b"hello", sender_email="ann@example.com")
    await poll(bucket)
    (key,) = objects(tmp_path)
    found = await bucket.store.head(key)
    assert found is not None
    assert found.metadata is not None
    at = datetime.fromisoformat(found.metadata["failed_at"])
    assert abs((datetime.now(UTC) - at).total_seconds()) < 3600
    assert found.metadata["original_filename"] == "notes.txt"
    assert found.metadata["sender_email"] == "ann@example.com"
    assert stat.S_ISREG((tmp_path / "bucket" / key).stat().st_mode)


async def test_an_object_that_breaks_us_in_a_new_way_holds_up_nobody_and_is_given_up(
    bucket: Bucket, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(tmp_path, "bad.pdf", confirmation("bad"))
    drop(tmp_path, "good.pdf", confirmation("good"))
    real = poller.admit

    async def break_on_one(bucket: Bucket, each: buckets.BucketObject) -> None:
        if each.key.endswith("bad.pdf"):
            raise KeyError(each.key)
        await real(bucket, each)

    monkeypatch.setattr(poller, "admit", break_on_one)
    with capture_logs() as logs:
        assert await poll(bucket) == 1
        assert await poll(bucket) == 0  # it waits, and is not tried again at once
    assert "bad.pdf" not in json.dumps(logs, default=str)
    assert await rows(pool, "key", "state", "code") == [
        ("incoming/bad.pdf", "registered", "UNKNOWN"),
        ("incoming/good.pdf", "queued", None),
    ]
    async with pool.connection() as conn:
        await conn.execute(
            "UPDATE bucket_objects SET held_until = 'epoch',"
            " registered_at = registered_at - interval '1 hour' WHERE state = 'registered'"
        )
    await poll(bucket)
    assert (await rows(pool, "state", "code"))[0] == ("failed", "UNKNOWN")


async def test_the_pause_of_an_object_that_keeps_failing_grows(
    bucket: Bucket, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(tmp_path, "a.pdf")

    async def refuse(*_: object, **__: object) -> None:
        raise DocmillError("IO_ERROR", "no")

    monkeypatch.setattr(poller, "admit", refuse)
    await poll(bucket)
    waits: list[float] = []
    for age in ("1 minute", "10 minutes", "1 day"):
        async with pool.connection() as conn:
            await conn.execute(
                "UPDATE bucket_objects"
                " SET held_until = 'epoch', registered_at = now() - %s::interval",
                (age,),
            )
        await poll(bucket)
        async with pool.connection() as conn:
            query = "SELECT extract(epoch FROM held_until - now())::float FROM bucket_objects"
            row = await (await conn.execute(query)).fetchone()
        assert row is not None
        waits.append(row[0])
    assert waits == pytest.approx([30, 300, 3600], abs=20)


ODD = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.text(min_size=1, max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
).map(lambda name: name.replace(b"/", b"_").replace(b"\0", b"_"))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NOTES = st.one_of(
    st.binary(max_size=60),
    ANY_JSON.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(
        st.sampled_from(["sender_email", "sender-email", "original_filename", "x"]), ANY_JSON
    ).map(lambda value: json.dumps(value).encode()),
)
BYTES = st.sampled_from([PDF, b"", b"%PDF-1.7", b"MZ\x90", b"\0" * 100])


@NO_LIMITS
@given(ODD, st.sampled_from([b"", b".pdf", b".PDF", b"..pdf"]), NOTES, BYTES)
@example(b"..", b"", b"", PDF)
@example(b"Acme Inc", b"..pdf", b'{"sender_email": "\\u0000"}', PDF)
async def test_any_name_note_and_bytes_in_a_folder(
    pool: Pool, tmp_path: Path, stem: bytes, ending: bytes, note: bytes, data: bytes
) -> None:
    folder = tmp_path / uuid4().hex
    bucket = a_bucket(pool, folder)
    name = (stem + ending)[-255:]
    if name in {b".", b".."}:
        name += b"x.pdf"
    drop_bytes(folder, name, data)
    beside = folder / "bucket" / "incoming" / os.fsdecode(b"." + name + b".json")
    if len(os.fsencode(beside.name)) <= 255:
        beside.write_bytes(note)
    drop(folder, "other.pdf")
    hidden = name.startswith(b".") and (
        not name.lower().endswith(b".pdf") or name.startswith(b"._")
    )
    for _ in range(2):
        await poll(bucket)
    async with pool.connection() as conn:
        query = "SELECT count(*) FROM bucket_objects WHERE bucket = %s AND state = ANY(%s)"
        args = (bucket.name, ["queued", "failed"])
        row = await (await conn.execute(query, args)).fetchone()
    assert row == (1 if hidden else 2,)
    assert all(not each.unknown and not each.missing for each in await reconcile(bucket))


@pytest.fixture(params=["s3", "azure", "gcs_strict"])
async def remote(
    request: pytest.FixtureRequest,
    addresses: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Store]:
    """A watched bucket over the network, of every kind that keeps its word."""
    if request.param == "gcs_strict":
        with strict_gcs(tmp_path) as (cloud, credentials):
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
            opened = open_store(f"gs://docmill-tests/{uuid4()}?endpoint={cloud.url}")
            yield opened
            await opened.close()
        return
    url, _, options = addresses[request.param].partition("?")
    opened = open_store(f"{url}/{uuid4()}?{options}")
    yield opened
    await opened.close()


# Parts that are empty or dots, slashes at the end, control characters: all that keys may hold.
PARTS = st.one_of(
    st.sampled_from(
        ["", ".", "..", "...", "a", ".pdf", "x.pdf", "\x00", "\r\n", "%2e%2e", "+", "~"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
    st.text(st.characters(max_codepoint=0x7F), min_size=1, max_size=10),
)
REMOTE_NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
# Azurite answers a listing with 500 as soon as it holds one of these.
AZURITE_FAILS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
METADATA = st.dictionaries(
    st.sampled_from(["sender_email", "original_filename", "note"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=400),
    max_size=3,
)


def put_raw(
    remote: Store, name: str, data: bytes, metadata: dict[str, str], *, folder: str = "incoming"
) -> str:
    """As another program puts it, whatever the name; the key it must have in a listing."""
    kind, _, rest = remote.name.partition("://")
    bucket, _, prefix = rest.partition("/")
    driver: Any = cast(Any, remote)._driver
    whole = f"{prefix}/{folder}/{name}"
    if kind == "s3":
        endpoint = driver._signed._dialect.address.rpartition("/")[0]
        client: Any = cast(Any, boto3).client("s3", endpoint_url=endpoint, region_name="us-east-1")
        client.put_object(Bucket=bucket, Key=whole, Body=data, Metadata=metadata)
    elif kind == "az":
        headers = {f"x-ms-meta-{word}": value for word, value in metadata.items()}
        headers["x-ms-blob-type"] = "BlockBlob"
        with driver._signed.request("PUT", url_path(whole.encode()), headers, data):
            name = name.replace("\\", "/")
    else:
        driver.put(key_of(f"{folder}/{name}".encode()), BytesIO(data), metadata)
    return key_of(f"{folder}/{name}".encode())


async def listed(store: Store, prefix: str) -> list[ObjectInfo]:
    return [one async for page in store.pages(prefix) for one in page]


@settings(NO_LIMITS, max_examples=20)
@given(REMOTE_NAMES, st.sampled_from(["", ".pdf", "..pdf", "/"]), METADATA, BYTES)
@example("Acme Inc", "..pdf", {"sender_email": "x" * 700, "note": "y" * 900}, b"MZ")
@example("x" * 200, ".pdf", {}, PDF)
@example("/", ".pdf", {}, PDF)
@example("../..", "/x.pdf", {}, PDF)
@example("a.pdf", "/", {}, PDF)
@example("a", "/", {}, b"")
@example("\x01\x1f\x7f\x85", ".pdf", {}, PDF)
async def test_any_name_and_metadata_in_a_bucket_over_the_network(
    pool: Pool, tmp_path: Path, remote: Store, name: str, ending: str,
    metadata: dict[str, str], data: bytes,
) -> None:  # fmt: skip
    assume(not (remote.name.startswith("az:") and AZURITE_FAILS.search(name)))
    bucket = a_bucket(pool, tmp_path, remote)
    try:
        key = put_raw(remote, f"{uuid4().hex[:6]}/{name}{ending}", data, metadata)
    except (ClientError, StoreError):
        assume(False)  # no name to the store itself
        raise
    other = f"incoming/{uuid4().hex}.pdf"
    await remote.put(other, PDF)
    before = await listed(remote, "incoming")
    assert {key, other} <= {one.key for one in before}
    found = {one.key for one in before if is_object(one)}
    await poll(bucket)
    async with pool.connection() as conn:
        query = "SELECT key, state FROM bucket_objects WHERE bucket = %s AND key = ANY(%s)"
        states = await (await conn.execute(query, (remote.name, list(found)))).fetchall()
    assert {key for key, _ in states} == found
    assert {state for _, state in states} <= {"queued", "failed"}, states
    assert not found & {one.key for one in await listed(remote, "incoming")}


ODD_KEYS = (
    "a//b.pdf", "/lead.pdf", "./d.pdf", "../e.pdf", "x/../f.pdf", "t.pdf/", "r\rr.pdf", "d\x7f.pdf",
    "tab\t.pdf", "plus+ space%20%.pdf", "<&>\"'.pdf", "\uef80\uef00.pdf", "q?#;=.pdf", "é.pdf",
)  # fmt: skip


async def test_objects_with_odd_keys_are_taken_with_bytes_and_metadata(
    pool: Pool, tmp_path: Path, remote: Store
) -> None:
    bucket = a_bucket(pool, tmp_path, remote)
    for name in ODD_KEYS:
        put_raw(remote, name, confirmation(name), {"sender_email": "ann@example.com"})
    assert await poll(bucket) == len(ODD_KEYS)
    found = await rows(pool, "key", "state", "code", "place")
    expected = {"incoming/t.pdf/": ("failed", "NOT_PDF")}
    for key, state, code, place in found:
        assert (state, code) == expected.get(key, ("queued", None))
        stored = await remote.head(place)
        assert stored is not None
        assert (stored.metadata or {})["sender_email"] == "ann@example.com"
        data = b"".join([chunk async for chunk in remote.chunks(place)])
        assert data == confirmation(name_of(key).decode().removeprefix("incoming/"))
    assert {key for key, *_ in found} == {key_of(f"incoming/{one}".encode()) for one in ODD_KEYS}
    assert await listed(remote, "incoming") == []
    await sweep(bucket)
    assert all(not each.unknown and not each.missing for each in await reconcile(bucket))


@pytest.mark.parametrize("remote", ["s3", "azure"], indirect=True)
async def test_metadata_that_is_no_ascii_is_kept(pool: Pool, tmp_path: Path, remote: Store) -> None:
    bucket = a_bucket(pool, tmp_path, remote)
    signed: Any = cast(Any, remote)._driver._signed
    path = url_path(f"{remote.name.split('/', 3)[3]}/incoming/a.pdf".encode())
    headers = {
        f"{signed._dialect.meta}sender_email": "zoë@example.com".encode("latin-1"),
        "content-disposition": 'attachment; filename="Zoë.pdf"'.encode("latin-1"),
        "x-ms-blob-type": "BlockBlob",
    }
    with signed.request("PUT", path, headers, PDF):
        await remote.put("incoming/b.pdf", PDF)
    assert await poll(bucket) == 2
    assert await rows(pool, "state", "code") == [("queued", None)] * 2
    async with pool.connection() as conn:
        query = "SELECT meta ->> 'sender_email' FROM documents ORDER BY meta ->> 'key'"
        assert (await (await conn.execute(query)).fetchall())[0] == ("zoë@example.com",)


@pytest.mark.parametrize("remote", ["s3"], indirect=True)
async def test_where_only_obstore_knows_the_keys_an_odd_key_is_left_out_and_others_go_on(
    pool: Pool, tmp_path: Path, remote: Store
) -> None:
    bucket = a_bucket(pool, tmp_path, remote)
    for name in (
        "./a.pdf",
        "//b.pdf",
        "c\x01.pdf",
        "d\x7f.pdf",
        "e/..",
        "good 1.pdf",
        "good 2.pdf",
    ):
        put_raw(remote, name, PDF, {})
    cast(Any, remote)._driver._signed = None
    with capture_logs() as logs:
        assert await poll(bucket) == 2
    assert await rows(pool, "key") == [("incoming/good 1.pdf",), ("incoming/good 2.pdf",)]
    assert [line["event"] for line in logs].count("bucket.name_left_out") == 5
    assert ".pdf" not in json.dumps(logs, default=str)


@pytest.mark.parametrize("remote", ["azure"], indirect=True)
async def test_a_store_that_refuses_our_own_listing_is_listed_by_obstore(
    pool: Pool, tmp_path: Path, remote: Store
) -> None:
    bucket = a_bucket(pool, tmp_path, remote)
    await remote.put("incoming/a.pdf", PDF)
    signed: Any = cast(Any, remote)._driver._signed
    signed._dialect = replace(signed._dialect, key="d3Jvbmc=")
    with capture_logs() as logs:
        assert await poll(bucket) == 1
    assert "bucket.own_listing_refused" in [line["event"] for line in logs]
    assert await one_state(pool) == ("queued", None)


async def test_odd_objects_in_processing_are_taken_in_again_and_marks_of_folders_stay(
    pool: Pool, tmp_path: Path, remote: Store
) -> None:
    bucket = a_bucket(pool, tmp_path, remote)
    for name in ("plain.pdf", "x//y.pdf", "tab\t.pdf", "z.pdf/"):
        put_raw(remote, name, PDF, {}, folder="processing")
    put_raw(remote, "mark/", b"", {}, folder="processing")
    assert await sweep(bucket) == 4
    assert await poll(bucket) == 4
    assert [one.key for one in await listed(remote, "incoming")] == []
    assert "processing/mark/" in [one.key for one in await listed(remote, "processing")]
    assert sorted(await rows(pool, "state", "code")) == [
        ("failed", "NOT_PDF"),
        *[("queued", None)] * 3,
    ]
