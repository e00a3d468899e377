"""When a store fails: three tries with growing waits, then a fault that says so."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bench.surroundings import find_port
from docmill.core.extras import advise_extra
from docmill.core.faults import CommandError, DocmillError
from docmill.storage import open_store, retry
from docmill.storage.contract import Store
from emulators import BUCKET
from storage.strict_gcs import Cloud

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    opened = open_store(f"gs://{BUCKET}?endpoint={cloud.url}")
    await opened.put("warm", b"the token is fetched by now")
    cloud.asked.clear()
    yield opened
    await opened.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were slept, without the sleeping."""
    slept: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real(0)

    monkeypatch.setattr(retry.asyncio, "sleep", sleep)
    monkeypatch.setattr(retry, "FIRST_WAIT", 1.0)
    return slept


async def test_two_failures_are_waited_out(store: Store, cloud: Cloud, waits: list[float]) -> None:
    cloud.failures = 2
    await store.put("uploads/one", b"one")
    assert waits == [1.0, 2.0]
    assert len(cloud.asked) == 3
    assert b"".join([chunk async for chunk in store.chunks("uploads/one")]) == b"one"


async def test_the_third_failure_is_told_with_a_time_to_come_back(
    store: Store, cloud: Cloud, waits: list[float]
) -> None:
    cloud.failures = 3
    with pytest.raises(DocmillError) as caught:
        await store.put("uploads/one", b"one")
    assert (caught.value.fault.code, caught.value.fault.status) == ("IO_ERROR", 503)
    assert caught.value.facts == {"retryAfter": 60}
    assert (len(cloud.asked), waits) == (3, [1.0, 2.0])


async def test_an_interrupted_listing_goes_on_where_it_was(
    store: Store, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.storage.contract.PAGE", 2)
    keys = [f"incoming/{n}" for n in range(5)]
    for key in keys:
        await store.put(key, b"x")
    seen: list[str] = []
    async for page in store.pages("incoming"):
        seen += [stored.key for stored in page]
        cloud.failures = 1
    assert seen == keys


async def test_a_store_that_is_not_there_is_a_fault_and_no_secret_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
    store = open_store(f"s3://nowhere?endpoint=http://127.0.0.1:{find_port()}")
    with pytest.raises(DocmillError) as caught:
        await store.put("uploads/one", b"one")
    assert caught.value.fault.code == "IO_ERROR"
    for call in (store.head("a"), store.file("a"), anext(store.pages("uploads"))):
        with pytest.raises(DocmillError) as caught:
            await call
        assert caught.value.fault.code == "IO_ERROR"
        told = f"{caught.value.detail} {caught.value.__cause__!r}"
        assert "canary" not in told
        assert "X-Amz-Signature" not in told


@pytest.mark.parametrize("url", ["ftp://host/folder", "s3:///prefix", "gs:bucket"])
def test_an_address_of_no_store_is_refused_with_the_forms_there_are(url: str) -> None:
    with pytest.raises(CommandError) as caught:
        open_store(url)
    assert "s3://bucket/prefix" in str(caught.value)


def test_a_missing_library_is_told_with_the_command_that_installs_it() -> None:
    script = (
        "import sys; sys.modules['obstore'] = None\n"
        "from docmill.storage import open_store\n"
        "try: open_store('s3://bucket')\n"
        "except Exception as exc: print(exc)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert advise_extra("s3") in ran.stdout


def test_a_cloud_library_is_imported_only_when_its_store_is_opened(tmp_path: Path) -> None:
    script = (
        "import sys; from docmill.storage import open_store\n"
        f"open_store({str(tmp_path)!r})\n"
        "print(sorted({'obstore', 'google.cloud.storage'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
