"""docmill serve: one per folder, gone when asked, back after a crash with nothing lost."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.terminal import Served, Terminal, book, wait_for


@pytest.fixture
def folder() -> Iterator[Path]:
    # pytest's own temporary folders are too deep for a socket's path.
    folder = Path(tempfile.mkdtemp(prefix="docmill-serve-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def person(folder: Path) -> Terminal:
    return Terminal(
        folder, {"DOCMILL_UPLOADS_PER_MINUTE": "0", "DOCMILL_DEFAULT_PIPELINE": "extract"}
    )


def test_a_second_serve_on_one_folder_says_so_and_exits(person: Terminal, folder: Path) -> None:
    served = Served(person, folder / "data")
    try:
        ran = person.run("serve", "--port", "0", "--data", folder / "data")
        assert ran.code == 1
        assert f"in use by another docmill, process {served.process.pid}." in ran.err
        assert "choose another data folder" in ran.err.splitlines()[-1]
        assert "Traceback" not in ran.err
    finally:
        assert served.stop() == 0


def test_a_taken_port_is_told_in_two_lines(person: Terminal, folder: Path) -> None:
    served = Served(person, folder / "data")
    try:
        ran = person.run("serve", "--port", str(served.port), "--data", folder / "other")
        assert ran.code == 1
        assert f"Port {served.port} of 127.0.0.1 is taken." in ran.err
        assert "Traceback" not in ran.err
    finally:
        served.stop()


def test_sigterm_ends_it_in_time_and_gives_running_jobs_back(
    person: Terminal, folder: Path
) -> None:
    person = person.with_(DOCMILL_GRACE_SECONDS="1")
    served = Served(person, folder / "data")
    try:
        job_id = submit(person, served, book(900))
        wait_for(lambda: served.job(person, job_id)["status"] == "processing")
        began = time.monotonic()
        assert served.stop() == 0
        assert time.monotonic() - began < 20
        served = Served(person, folder / "data", served.port)
        wait_for(lambda: served.job(person, job_id)["status"] == "processing")
        assert served.job(person, job_id)["attempt_count"] == 1
    finally:
        assert served.stop() == 0


def test_after_a_kill_the_next_start_takes_the_job_up_within_seconds(
    person: Terminal, folder: Path
) -> None:
    served = Served(person, folder / "data")
    try:
        job_id = submit(person, served, book(12))
        wait_for(lambda: served.job(person, job_id)["status"] == "processing")
        served.kill()
        served = Served(person, folder / "data", served.port)
        wait_for(lambda: served.job(person, job_id)["attempt_count"] == 2, seconds=15)
        wait_for(lambda: served.job(person, job_id)["status"] == "complete")
    finally:
        assert served.stop() == 0


def submit(person: Terminal, served: Served, data: bytes) -> str:
    (person.home / "book.pdf").write_bytes(data)
    (row,) = person.run("submit", "book.pdf", "--json", "--url", served.url).json
    return row["job_id"]
