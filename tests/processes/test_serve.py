"""docmill serve: one per folder, gone when asked, back after a crash with nothing lost."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from folders import quick_folder
from terminal import Served, Terminal, book, wait_for
from waits import PATIENCE


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder("serve") as made:
        yield made


@pytest.fixture
def person(folder: Path) -> Terminal:
    settings = {
        "DOCMILL_UPLOADS_PER_MINUTE": "0",
        "DOCMILL_DEFAULT_PIPELINE": "extract",
        "DOCMILL_PIPELINES": "extract",  # all of them take a fork server four times as long
    }
    return Terminal(folder, settings)


def test_a_second_serve_on_one_folder_says_so_and_exits(person: Terminal, served: Served) -> None:
    ran = person.run("serve", "--port", "0", "--data", served.data)
    assert ran.code == 1
    assert f"in use by another docmill, process {served.process.pid}." in ran.err
    assert "choose another data folder" in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err
    assert served.process.poll() is None


def test_a_taken_port_is_told_in_two_lines(person: Terminal, folder: Path, served: Served) -> None:
    ran = person.run("serve", "--port", str(served.port), "--data", folder / "other")
    assert ran.code == 1
    assert f"Port {served.port} of 127.0.0.1 is taken." in ran.err
    assert "Traceback" not in ran.err


def test_sigterm_ends_it_in_time_and_gives_running_jobs_back(
    person: Terminal, folder: Path
) -> None:
    person = person.with_(DOCMILL_GRACE_SECONDS="1")
    served = Served(person, folder / "data")
    try:
        job_id = submit(person, served, book(900))
        wait_for(lambda: served.job(person, job_id)["status"] == "processing")
        assert served.stop() == 0
        served = Served(person, folder / "data", served.port)
        wait_for(lambda: served.job(person, job_id)["status"] == "processing")
        assert served.job(person, job_id)["attempt_count"] == 1
    finally:
        assert served.stop() == 0


def test_after_a_kill_the_next_start_takes_the_job_up_long_before_its_lease_ends(
    person: Terminal, folder: Path
) -> None:
    person = person.with_(DOCMILL_LEASE_SECONDS="3600")
    served = Served(person, folder / "data")
    try:
        job_id = submit(person, served, book(12))
        wait_for(lambda: served.job(person, job_id)["status"] == "processing")
        served.kill()
        served = Served(person, folder / "data", served.port)
        wait_for(lambda: served.job(person, job_id)["attempt_count"] == 2)
        wait_for(lambda: served.job(person, job_id)["status"] == "complete")
    finally:
        assert served.stop() == 0


def submit(person: Terminal, served: Served, data: bytes) -> str:
    (person.home / "book.pdf").write_bytes(data)
    (row,) = person.run("submit", "book.pdf", "--json", "--url", served.url).json
    return row["job_id"]


def test_what_sessions_had_uploaded_is_the_one_persons_in_local_mode(
    person: Terminal, folder: Path
) -> None:
    served = Served(person.with_(AUTH_MODE="session"), folder / "data")
    try:
        job_id = submit(person, served, book(1))
        wait_for(lambda: served.job(person, job_id)["status"] == "complete")
        assert httpx2.get(f"{served.url}/api/jobs/{job_id}").status_code == 403
    finally:
        assert served.stop() == 0
    served = Served(person, folder / "data", served.port)
    try:
        job = httpx2.get(f"{served.url}/api/jobs/{job_id}")
        assert (job.status_code, job.json()["status"]) == (200, "complete")
        assert "set-cookie" not in job.headers
        found = httpx2.get(f"{served.url}/api/search", params={"q": "fox"}, timeout=PATIENCE).json()
        assert {hit["job_id"] for hit in found["hits"]} == {job_id}
        assert httpx2.get(f"{served.url}/bucket").status_code == 200
        (person.home / "docmill" / "sessions.json").unlink()
        assert [row["id"] for row in person.run("jobs", "--json", "--url", served.url).json] == [
            job_id
        ]
        assert not (person.home / "docmill" / "sessions.json").exists()
        assert httpx2.delete(f"{served.url}/api/jobs/{job_id}").status_code == 204
    finally:
        assert served.stop() == 0


def test_local_mode_is_refused_where_other_people_reach_it(person: Terminal, folder: Path) -> None:
    words = ("serve", "--port", "0", "--data", folder / "data")
    for wrong in ({"DOCMILL_HOST": "0.0.0.0"}, {"DOCMILL_HOSTS": "docs.example.com"}):
        ran = person.with_(AUTH_MODE="local", **wrong).run(*words)
        assert ran.code == 1
        assert "AUTH_MODE=local lets in whoever reaches docmill" in ran.err
        assert "Traceback" not in ran.err
    assert not (folder / "data").exists()
