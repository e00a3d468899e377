"""docmill poll and reconcile, as people run them beside a docmill that serves."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from folders import quick_folder
from terminal import Served, Terminal, letter, wait_for
from waits import PATIENCE
from warm_sandboxes import WARM


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder("bucket") as made:
        yield made


def test_a_file_dropped_into_the_inbox_is_processed_filed_and_counted(folder: Path) -> None:
    person = Terminal(folder, {"DOCMILL_BUCKET_PIPELINE": "extract", **WARM})
    served = Served(person, folder / "data")
    bucket = folder / "data" / "bucket"
    try:
        wait_for((bucket / "incoming").is_dir)
        (bucket / "incoming" / "Trade.PDF").write_bytes(letter())
        wait_for(lambda: list(bucket.glob("archive/*/*/*.pdf")), served.log.read_text)
        ran = person.run("reconcile", "--data", folder / "data", "--json")
        assert (ran.code, ran.json[2]["prefix"], ran.json[2]["done"]) == (0, "archive", 1)
        (bucket / "archive" / "stranger.pdf").write_bytes(b"x")
        ran = person.run("reconcile", "--data", folder / "data")
        assert ran.code == 1
        assert " ".join(ran.out.splitlines()[3].split()) == "bucket archive 2 1 0 0 1 0"
        (bucket / "incoming" / "notes.txt").write_bytes(b"no PDF")
        wait_for(lambda: list(bucket.glob("failed/*/*/*.txt")), served.log.read_text)
        listed = person.run("objects", "--json", "--url", served.url).json
        assert {(each["filename"], each["state"], each["code"]) for each in listed} == {
            ("Trade.PDF", "archived", None),
            ("notes.txt", "failed", "NOT_PDF"),
        }
        shown = person.run("objects", "--state", "failed", "--url", served.url).out
        assert "Only PDF files are supported (NOT_PDF)" in shown
        answer = httpx2.get(f"{served.url}/api/bucket", trust_env=False, timeout=PATIENCE).json()
        assert [each["unknown"] for each in answer["prefixes"]] == [0, 0, 1, 0]
    finally:
        assert served.stop() == 0


def test_poll_once_says_what_it_did_and_needs_a_database_and_a_pipeline(
    terminal: Terminal, database_url: str
) -> None:
    ran = terminal.run("poll", "--once")
    assert (ran.code, "DATABASE_URL is not set" in ran.err) == (1, True)
    person = terminal.with_(DATABASE_URL=database_url, DOCMILL_BUCKET_PIPELINE="nosuch")
    ran = person.run("poll", "--once")
    assert (ran.code, "DOCMILL_BUCKET_PIPELINE" in ran.err) == (1, True)
    person = person.with_(DOCMILL_BUCKET_PIPELINE="extract")
    assert person.run("poll", "--once").out == "bucket: 0 objects\n"
    incoming = terminal.home / "data" / "bucket" / "incoming"
    (incoming / "no.txt").write_bytes(b"x")
    wait_for(lambda: person.run("poll", "--once").out == "bucket: 1 objects\n")
    assert list(incoming.parent.glob("failed/*/*/*.txt"))
