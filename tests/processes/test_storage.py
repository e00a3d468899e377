"""`docmill storage move` as an operator runs it: asked first, killed in between, run again."""

import asyncio
import signal
from pathlib import Path
from uuid import uuid4

from docmill.storage import open_store
from terminal import Terminal

KEYS = [f"uploads/ab/{number}" for number in range(12)]


def fill(place: str) -> None:
    async def put() -> None:
        for key in KEYS:
            await open_store(place).put(key, key.encode() * 1000)

    asyncio.run(put())


def read_all(place: str) -> dict[str, bytes]:
    async def read() -> dict[str, bytes]:
        store = open_store(place)
        found = [each.key async for page in store.pages("uploads") for each in page]
        try:
            return {key: b"".join([part async for part in store.chunks(key)]) for key in found}
        finally:
            await store.close()

    return asyncio.run(read())


def test_a_move_that_is_killed_goes_on_where_it_was_and_says_what_to_set(
    terminal: Terminal, addresses: dict[str, str], tmp_path: Path
) -> None:
    disk = (tmp_path / "disk").as_uri()
    url, _, options = addresses["s3"].partition("?")
    cloud = f"{url}/{uuid4()}?{options}"
    fill(disk)
    counted = terminal.run("storage", "move", disk, cloud, "--dry-run", "--json").json
    assert (counted["found"]["uploads"]["objects"], counted["moved"]) == (len(KEYS), 0)
    refused = terminal.run("storage", "move", disk, cloud)
    assert refused.code == 1
    assert "does not read from both stores" in refused.err
    assert f"DOCMILL_STORE_ALSO={disk}" in refused.err

    known = terminal.with_(DOCMILL_STORE=cloud, DOCMILL_STORE_ALSO=disk)
    for point in ("move.copied", "move.left"):
        killed = known.with_(DOCMILL_FAILPOINTS=f"{point}=kill").run("storage", "move", disk, cloud)
        assert killed.code == -signal.SIGKILL
    half = {**read_all(disk), **read_all(cloud)}
    assert half == {key: key.encode() * 1000 for key in KEYS}

    ran = known.run("storage", "move", disk, cloud)
    assert (ran.code, ran.err) == (0, "")
    assert f"DOCMILL_STORE={cloud}" in ran.out
    assert read_all(disk) == {}
    assert read_all(cloud) == half


def test_a_move_says_which_store_is_wrong_before_it_copies(
    terminal: Terminal, addresses: dict[str, str], tmp_path: Path
) -> None:
    disk, other = (tmp_path / "disk").as_uri(), (tmp_path / "other").as_uri()
    url, _, options = addresses["s3"].partition("?")
    cloud = f"{url}/{uuid4()}?{options}"
    missing = terminal.run("storage", "move", disk, cloud)
    assert (missing.code, (tmp_path / "disk").exists()) == (1, False)
    assert f"FROM is no folder: {tmp_path / 'disk'}" in missing.err

    fill(disk)
    nowhere = f"s3://no-such-bucket-{uuid4()}?{options}"
    refused = terminal.run("storage", "move", disk, nowhere, "--dry-run")
    assert (refused.code, "TO can't be listed: s3://no-such-bucket" in refused.err) == (1, True)

    known = terminal.with_(DOCMILL_STORE=cloud.replace("127.0.0.1", "localhost"))
    elsewhere = known.with_(DOCMILL_STORE_ALSO=disk).run("storage", "move", disk, cloud)
    assert elsewhere.code == 1
    assert "DOCMILL_STORE and TO name one bucket at two servers" in elsewhere.err
    assert set(read_all(disk)) == set(KEYS)
    both = terminal.with_(DOCMILL_STORE=other, DOCMILL_STORE_ALSO=disk)
    assert both.run("storage", "move", disk, other).code == 0
