"""The disaster drill: a machine is lost in the middle of its work, and another one goes on.

A backup is made while people upload. Then everything is killed and the machine's folder is gone.
On another machine the backup is restored, docmill is started, and nothing acknowledged is lost.
"""

import asyncio
import hashlib
import shutil
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from docmill.processes.database import find_running
from docmill.receipts.statement import verify
from folders import quick_folder
from receivers import HookReceiver, receiving
from road import claim
from terminal import SOON, Served, Terminal, letter, wait_for
from waits import PATIENCE

pytestmark = pytest.mark.anyio

SETTINGS = {
    "AUTH_MODE": "session",
    "DOCMILL_UPLOADS_PER_MINUTE": "0",
    "DOCMILL_DEFAULT_PIPELINE": "extract",
    "DOCMILL_WEBHOOK_ALLOW": "127.0.0.0/8",
    "DOCMILL_BUCKET": "none",
    "DOCMILL_PIPELINES": "extract",  # what is for study waits
}


@dataclass(slots=True)
class Person:
    """Somebody with a session, who remembers what was acknowledged."""

    http: httpx2.Client
    acknowledged: dict[str, str] = field(default_factory=dict[str, str])

    def upload(self, served: Served, words: str, pipeline: str = "extract") -> str:
        content = letter(words)
        answer = self.http.post(
            f"{served.url}/api/upload", files={"file": ("a.pdf", content, "application/pdf")},
            data={"pipeline": pipeline},
        )  # fmt: skip
        assert answer.status_code == 200, answer.text
        job_id = answer.json()["jobId"]
        self.acknowledged[job_id] = hashlib.sha256(content).hexdigest()
        return job_id

    def get(self, served: Served, path: str) -> httpx2.Response:
        return self.http.get(f"{served.url}{path}")

    def states(self, served: Served) -> dict[str, str]:
        found = self.get(served, "/api/jobs?limit=200").json()["jobs"]
        return {job["id"]: job["status"] for job in found}


@contextmanager
def uploading(person: Person, served: Served) -> Generator[None]:
    """One upload after the other, for as long as the block takes."""
    ended, trouble = threading.Event(), list[BaseException]()

    def go_on() -> None:
        try:
            for number in range(10_000):
                if ended.is_set():
                    return
                person.upload(served, f"sent during the backup {number}")
        except BaseException as exc:  # noqa: BLE001  told by the test
            trouble.append(exc)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(SOON)
    assert not trouble, trouble


async def start_by_another_machine(url: str) -> str:
    """A worker elsewhere holds a job, and is lost with it."""
    async with await psycopg.AsyncConnection.connect(url) as conn:
        (held,) = await claim(conn, "lost/worker/1", pipelines=["study"])
    return str(held.id)


async def test_a_machine_is_lost_and_another_goes_on_with_its_backup(tmp_path: Path) -> None:
    async with receiving(200) as receiver:
        await asyncio.to_thread(drill, tmp_path, receiver)


def drill(tmp_path: Path, receiver: HookReceiver) -> None:
    with quick_folder("disaster") as home, httpx2.Client(timeout=PATIENCE) as http:
        terminal, person = Terminal(home, SETTINGS), Person(http)
        served = Served(terminal, home / "first")
        try:
            told = live_for_a_while(person, served, receiver)
            backup = back_up_while_uploading(person, served, terminal, tmp_path / "backup")
        finally:
            served.kill()
        shutil.rmtree(home / "first" / "store")  # the machine is gone, its folder with it
        restored = restore_elsewhere(terminal, backup, home / "second", told)
        everything = terminal.with_(DOCMILL_PIPELINES="extract,study")
        served = Served(everything, home / "second")
        try:
            go_on(person, served, told, receiver)
        finally:
            served.stop()
    assert restored["released"] >= 1, "the one of the lost machine, and what ran here"


def live_for_a_while(person: Person, served: Served, receiver: HookReceiver) -> dict[str, Any]:
    """Ended jobs, waiting ones, one under way; a webhook, a key, a receipt."""
    hook = person.http.post(f"{served.url}/api/webhooks", json={"url": receiver.url}).json()
    key = person.http.post(f"{served.url}/api/keys", json={"name": "import"}).json()["key"]
    ended = [person.upload(served, f"letter {number}") for number in range(4)]
    wait_for(lambda: all(person.states(served)[one] == "complete" for one in ended))
    waiting = [person.upload(served, f"lesson {number}", "study") for number in range(3)]
    url = find_running(served.data)
    assert url
    lost = asyncio.run(start_by_another_machine(url))
    results = {one: person.get(served, f"/api/jobs/{one}/download").content for one in ended}
    receipt = person.get(served, f"/api/jobs/{ended[0]}/receipt").content
    return {
        "ended": ended, "waiting": waiting, "lost": lost, "results": results, "key": key,
        "receipt": receipt, "secret": hook["secret"],
    }  # fmt: skip


def back_up_while_uploading(
    person: Person, served: Served, terminal: Terminal, folder: Path
) -> Path:
    """Twice: the second is cut after its dump, and the first is whole all the same."""
    words = ("backup", folder, "--data", served.data, "--json")
    with uploading(person, served):
        before = set(person.acknowledged)
        made = terminal.run(*words)
    assert made.code == 0, made.err
    assert made.json["objects"] == made.json["copied"] >= len(before)
    assert made.json["jobs"] >= len(before)
    whole = (folder / "database.dump").read_bytes()
    cut = terminal.with_(DOCMILL_FAILPOINTS="backup.dumped=kill").run(*words)
    assert cut.code == -signal.SIGKILL
    assert (folder / "database.dump").read_bytes() == whole
    again = terminal.run(*words).json
    assert again["objects"] >= made.json["objects"]
    assert again["copied"] < again["objects"], "what lay there was copied again"
    assert (folder / "backup.json").stat().st_mode & 0o077 == 0
    return folder


def restore_elsewhere(
    terminal: Terminal, backup: Path, data: Path, told: dict[str, Any]
) -> dict[str, Any]:
    damaged = backup.with_name("damaged")
    shutil.copytree(backup, damaged, ignore=shutil.ignore_patterns("store"))
    with (damaged / "database.dump").open("r+b") as file:
        file.write(b"X")
    refused = terminal.run("restore", damaged, "--data", data)
    assert (refused.code, "is not what was written" in refused.err) == (1, True)
    ran = terminal.run("restore", backup, "--data", data, "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["missing"], ran.json["audit_is_whole"]) == ([], True)
    again = terminal.run("restore", backup, "--data", data)
    assert (again.code, "a docmill in this database already" in again.err) == (1, True)
    return ran.json


def go_on(person: Person, served: Served, told: dict[str, Any], receiver: HookReceiver) -> None:
    """The same people with the same cookies, keys and webhooks, at another address."""
    states = person.states(served)
    assert states.keys() >= {*told["ended"], *told["waiting"], told["lost"]}
    wait_for(lambda: set(person.states(served).values()) == {"complete"}, str(states).__str__)
    for job_id, content in told["results"].items():
        assert person.get(served, f"/api/jobs/{job_id}/download").content == content
    for job_id in person.states(served):
        original = person.get(served, f"/api/jobs/{job_id}/original").content
        assert hashlib.sha256(original).hexdigest() == person.acknowledged[job_id]
    receipt = person.get(served, f"/api/jobs/{told['ended'][0]}/receipt").content
    assert receipt == told["receipt"], "the key that signs came along"
    assert verify(receipt).statement["job"] == told["ended"][0]
    program = {"authorization": f"Bearer {told['key']}"}
    with httpx2.Client(timeout=PATIENCE) as client:
        listed = client.get(f"{served.url}/api/jobs", headers=program)
    assert listed.status_code == 200
    assert listed.json()["jobs"]
    fresh = person.upload(served, "the first on the new machine")

    def is_told() -> bool:
        return any(
            one.told["data"].get("job_id") == fresh or fresh in one.body.decode()
            for one in receiver.received
        )

    wait_for(is_told)
    (last,) = [one for one in receiver.received if fresh in one.body.decode()][:1]
    assert last.verify(told["secret"])
