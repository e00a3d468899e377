"""submit, jobs, show, result, retry and cancel against a docmill that serves."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import pdfs
from terminal import Terminal, book, letter


def put(desk: Terminal, name: str, data: bytes) -> str:
    (desk.home / name).write_bytes(data)
    return name


def submitted(desk: Terminal, *words: str) -> list[dict[str, Any]]:
    return desk.run("submit", *words, "--json").json


@pytest.fixture
def done(desk: Terminal) -> str:
    """The id of a job that is complete."""
    (row,) = submitted(desk, put(desk, "letter.pdf", letter()), "--watch")
    assert row["status"] == "complete"
    return row["job_id"]


def test_a_watched_file_goes_all_the_way_to_its_result(desk: Terminal) -> None:
    data = letter("Total: 17.50")
    ran = desk.run("submit", put(desk, "a.pdf", data), "--watch")
    assert ran.code == 0
    received, ready = ran.out.splitlines()
    job_id = ready.rpartition(" ")[2]
    assert received == f"a.pdf: received, job {job_id}"
    assert ready == f"a.pdf: Ready, job {job_id}"
    told = desk.run("result", job_id)
    desk.run("read", "extract", "a.pdf", "--out", "out")
    alone = desk.home / "out" / f"{hashlib.sha256(data).hexdigest()}.json"
    assert told.out.encode() == alone.read_bytes()


def test_the_same_file_twice_is_one_job(desk: Terminal) -> None:
    name = put(desk, "a.pdf", letter("twice"))
    (first,), (second,) = submitted(desk, name, "--watch"), submitted(desk, name)
    assert (first["outcome"], second["outcome"]) == ("created", "existing")
    assert first["job_id"] == second["job_id"]
    assert len(desk.run("jobs", "--json").json) == 1


def test_each_file_has_its_own_outcome_and_one_failure_is_enough_for_exit_1(desk: Terminal) -> None:
    names = [
        put(desk, "good.pdf", letter("good")),
        put(desk, "bad.pdf", pdfs.truncated_pdf()),
        put(desk, "noise.bin", bytes(range(256))),
        "missing.pdf",
    ]
    ran = desk.run("submit", *names, "--watch", "--json")
    assert ran.code == 1
    found = {row["file"]: (row["success"], row["code"], row["status"]) for row in ran.json}
    assert found == {
        "good.pdf": (True, "", "complete"),
        "bad.pdf": (False, "BAD_PDF", "failed"),
        "noise.bin": (False, "NOT_PDF", ""),
        "missing.pdf": (False, "", ""),
    }


def test_many_files_are_one_owners(desk: Terminal) -> None:
    names = [put(desk, f"{number}.pdf", letter(f"no {number}")) for number in range(8)]
    assert all(row["success"] for row in submitted(desk, *names))
    assert len(desk.run("jobs", "--json", "--limit", "0").json) == 8
    assert len(desk.run("jobs", "--json", "--limit", "3").json) == 3


def test_an_unknown_pipeline_is_refused_with_advice(desk: Terminal) -> None:
    ran = desk.run("submit", put(desk, "a.pdf", letter()), "--pipeline", "nonsense")
    assert ran.code == 1
    assert "UNKNOWN_PIPELINE" in ran.out


def test_jobs_are_listed_and_filtered(desk: Terminal, done: str) -> None:
    assert desk.run("jobs").out.count(done) == 1
    assert [job["id"] for job in desk.run("jobs", "--status", "complete", "--json").json] == [done]
    assert desk.run("jobs", "--status", "failed", "--json").json == []
    assert desk.run("jobs", "--status", "failed").out.startswith("No jobs match.")
    assert desk.run("jobs", "--pipeline", "other", "--json").json == []
    wrong = desk.run("jobs", "--status", "nonsense")
    assert (wrong.code, len(wrong.err.splitlines())) == (1, 2)


def test_nobody_elses_jobs_are_seen(desk: Terminal, done: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Terminal(tmp_path / "other", desk.variables)
    assert other.run("jobs").out.startswith("No jobs.")
    ran = other.run("show", done)
    assert ran.code == 1
    assert ran.err.startswith("This file isn't yours.")


def test_show_tells_the_whole_story(desk: Terminal, done: str) -> None:
    ran = desk.run("show", done[:8])
    assert ran.code == 0
    for word in (done, "History", "queued > processing", "processing > complete", "Attempts"):
        assert word in ran.out
    told = desk.run("show", done, "--json").json
    assert told["events"]
    assert told["attempts"][0]["outcome"] == "complete"


def test_a_result_is_written_to_a_file(desk: Terminal, done: str) -> None:
    assert desk.run("result", done[:6], "-o", "result.json").code == 0
    assert json.loads((desk.home / "result.json").read_bytes())["pipeline"] == "extract"
    assert desk.run("result", done, "-o", ".").code == 2
    assert desk.run("result", done, "-o", "no/such/folder").code == 2


def test_what_cannot_be_changed_is_told_for_each_job(desk: Terminal, done: str) -> None:
    for verb in ("retry", "cancel"):
        ran = desk.run(verb, done, "ffff", "--json")
        assert ran.code == 1
        assert [row["code"] for row in ran.json] == ["WRONG_STATE", "JOB_NOT_FOUND"]


def test_a_failed_job_is_queued_again(desk: Terminal) -> None:
    (row,) = submitted(desk, put(desk, "bad.pdf", pdfs.truncated_pdf()), "--watch")
    ran = desk.run("retry", row["job_id"][:8])
    assert ran.code == 0
    assert ran.out == f"{row['job_id']}: queued\n"


def test_a_running_job_is_cancelled_and_has_no_result(desk: Terminal) -> None:
    (row,) = submitted(desk, put(desk, "book.pdf", book(900, "to cancel")))
    assert desk.run("cancel", row["job_id"]).out == f"{row['job_id']}: cancelled\n"
    ran = desk.run("result", row["job_id"])
    assert ran.code == 1
    assert ran.err.startswith("The job was cancelled.")
    assert not ran.out


def test_an_id_nobody_has_is_told(desk: Terminal, done: str) -> None:
    ran = desk.run("show", "00000000-0000-4000-8000-000000000000")
    assert ran.code == 1
    assert ran.err.splitlines() == ["Job not found.", "Check the id; `docmill jobs` lists yours."]
    assert desk.run("show", "zz").code == 1
    assert desk.run("show", "z" * 36).code == 2


def test_fields_can_be_asked_for_and_make_another_job(desk: Terminal) -> None:
    name = put(desk, "bill.pdf", letter("Total: EUR 17.50"))
    (plain,) = submitted(desk, name)
    words = (name, "--pipeline", "extract", "--fields", "total:amount")
    (row,), (again,) = submitted(desk, *words, "--watch"), submitted(desk, *words)
    assert row["job_id"] == again["job_id"] != plain["job_id"]
    asked = json.loads(desk.run("result", row["job_id"]).out)["asked"]
    assert (asked["total"]["value"], asked["total"]["currency"]) == ("17.50", "EUR")
    (bad,) = submitted(desk, name, "--fields", "total:lots")
    assert bad["code"] == "BAD_REQUEST"
    assert "there is no type 'lots'" in bad["message"]


def test_a_folder_is_sent_with_all_folders_in_it(desk: Terminal) -> None:
    (desk.home / "box" / "inner").mkdir(parents=True)
    (desk.home / "box" / ".hidden").mkdir()
    for name in ("b.pdf", "inner/A.PDF", "notes.csv", ".hidden/c.pdf", ".d.pdf"):
        put(desk, f"box/{name}", letter(name))
    ran = desk.run("submit", "box", put(desk, "alone.pdf", letter("alone")))
    assert ran.code == 0, ran.out
    told = [line.partition(":")[0] for line in ran.out.splitlines()]
    assert sorted(told) == [
        "1 file in folders left out", "alone.pdf", "box/b.pdf", "box/inner/A.PDF"
    ]  # fmt: skip


def test_of_a_folder_is_sent_what_the_pipeline_takes(desk: Terminal) -> None:
    (desk.home / "box").mkdir()
    put(desk, "box/a.txt", b"three short words")
    assert [row["file"] for row in submitted(desk, "box", "--pipeline", "study")] == ["box/a.txt"]
    assert submitted(desk, "box", "--pipeline", "extract") == []


def test_one_bad_file_in_a_request_does_not_harm_the_others(desk: Terminal) -> None:
    names = [put(desk, f"{number}.pdf", letter(f"of many {number}")) for number in range(24)]
    names.insert(3, put(desk, "noise.bin", bytes(range(256))))
    rows = submitted(desk, *names)
    assert [row["file"] for row in rows] == names
    assert [row["file"] for row in rows if not row["success"]] == ["noise.bin"]
    assert len({row["job_id"] for row in rows}) == 25
