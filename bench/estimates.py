"""How far the time left is off: mixed real documents through a real docmill.

    python -m bench.estimates ../shared/corpus --warm 100 --jobs 50 --again 20

Documents of several folders are uploaded a handful at a time. The estimates given at the upload,
when the job was first seen running and when it was first seen half done are held against the truth,
which is the time on the clock. Files made to do harm are left out: each is a kind of its own.

On a busy machine the truth itself wavers. So the load is told, and some documents are sent a second
time: whoever knew how long that very document took last would be right so often, and nobody can be
right more often than that.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

SEED = 14
BURST = 5
HARMFUL = "hostile"
HALF = 50
# The clock of a poll is no finer than this; below it nobody waits.
FINEST = 0.5


@dataclass(slots=True)
class Watched:
    """One job: when each estimate was given, what it said, and when the job was done."""

    name: str
    bytes: int
    at_upload: tuple[float, float]
    at_start: tuple[float, float] | None = None
    at_half: tuple[float, float] | None = None
    done: float | None = None
    ran: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--warm", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--again", type=int, default=20, help="So many are sent a second time.")
    parser.add_argument("--pipeline", default="auto")
    parser.add_argument("--url", help="A docmill that runs already; else one is started.")
    given = parser.parse_args()
    files = choose_files(given.corpus, given.warm + given.jobs)
    with tempfile.TemporaryDirectory(prefix="docmill-estimates-") as folder:
        server = None if given.url else start_server(Path(folder))
        try:
            url = given.url or wait_for_server(Path(folder))
            with httpx2.Client(base_url=url, timeout=120) as client:
                run(client, files[: given.warm], given.pipeline)
                load = [os.getloadavg()[0]]
                measured = run(client, files[given.warm :], given.pipeline)
                load.append(os.getloadavg()[0])
                again = files[given.warm : given.warm + given.again]
                second = run(client, again, given.pipeline, salt=b"\n%again")
        finally:
            if server:
                server.terminate()
                server.wait(60)
    report(measured)
    report_twins(measured, second)
    print(f"load {load[0]:.1f} to {load[1]:.1f} on {os.cpu_count()} cores")


def choose_files(corpus: Path, count: int) -> list[Path]:
    """From every folder alike, in an order that is the same each time."""
    dice = random.Random(SEED)
    kinds = [one for one in sorted(corpus.iterdir()) if one.is_dir() and one.name != HARMFUL]
    folders = [sorted(one.rglob("*.pdf")) for one in kinds]
    found = [path for paths in folders for path in dice.sample(paths, min(count, len(paths)))]
    dice.shuffle(found)
    return found[:count]


def start_server(folder: Path) -> subprocess.Popen[bytes]:
    log = (folder / "log").open("wb")
    env = {**os.environ, "DOCMILL_UPLOADS_PER_MINUTE": "0", "DOCMILL_READS_PER_MINUTE": "0"}
    command = [str(Path(sys.executable).with_name("docmill")), "serve", "--port", "0"]
    command += ["--data", str(folder / "data")]
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=env)


def wait_for_server(folder: Path) -> str:
    until = time.monotonic() + 180
    while time.monotonic() < until:
        for line in (folder / "log").read_text().splitlines():
            if line.startswith("docmill is at "):
                url = line.removeprefix("docmill is at ").strip()
                if httpx2.get(f"{url}/ready", timeout=60).status_code == 200:
                    return url
        time.sleep(1)
    raise SystemExit((folder / "log").read_text()[-2000:])


def run(
    client: httpx2.Client, files: Sequence[Path], pipeline: str, salt: bytes = b""
) -> list[Watched]:
    """A burst at a time; the next begins when half of the last is done, so that some wait."""
    watched: dict[str, Watched] = {}
    for start in range(0, len(files), BURST):
        for path in files[start : start + BURST]:
            upload(client, (path.name, path.read_bytes() + salt), pipeline, watched)
        while sum(one.done is None for one in watched.values()) > BURST // 2:
            look(client, watched)
            time.sleep(0.1)
    while any(one.done is None for one in watched.values()):
        look(client, watched)
        time.sleep(0.1)
    return list(watched.values())


def upload(
    client: httpx2.Client, file: tuple[str, bytes], pipeline: str, watched: dict[str, Watched]
) -> None:
    files = {"file": file}
    answer = client.post("/api/upload", files=files, data={"pipeline": pipeline}).json()
    if answer.get("outcome") == "created":
        said = (time.time(), answer["estimatedTime"])
        watched[answer["jobId"]] = Watched(file[0], answer["job"]["bytes"], said)


def look(client: httpx2.Client, watched: dict[str, Watched]) -> None:
    for job_id, one in watched.items():
        if one.done is None:
            note(one, client.get(f"/api/jobs/{job_id}").json())


def note(one: Watched, job: dict[str, Any]) -> None:
    if job["status"] == "processing" and one.at_start is None:
        one.at_start = (time.time(), job["estimated_seconds_left"])
    if job["status"] == "processing" and job["progress"] >= HALF and one.at_half is None:
        one.at_half = (time.time(), job["estimated_seconds_left"])
    ended = job["completed_at"] or job["failed_at"] or job["cancelled_at"]
    if ended:
        one.done = datetime.fromisoformat(ended).astimezone(UTC).timestamp()
        began = datetime.fromisoformat(job["started_at"] or ended).astimezone(UTC).timestamp()
        one.ran = one.done - began


def report(measured: Sequence[Watched]) -> None:
    lines = {
        "at upload": [(one, one.at_upload) for one in measured],
        "at start": [(one, one.at_start) for one in measured if one.at_start],
        "half done": [(one, one.at_half) for one in measured if one.at_half],
    }
    told: dict[str, Any] = {}
    for name, estimates in lines.items():
        pairs = [(said, (one.done or at) - at) for one, (at, said) in estimates]
        right = sum(is_within_half(said, truth) for said, truth in pairs)
        ratios = sorted(said / max(truth, FINEST) for said, truth in pairs)
        middle = ratios[len(ratios) // 2] if ratios else None
        told[name] = {"jobs": len(pairs), "within half": right, "middle ratio": middle}
    print(json.dumps(told, indent=1))


def report_twins(measured: Sequence[Watched], second: Sequence[Watched]) -> None:
    first = {one.name: one.ran for one in measured if one.ran}
    pairs = [(first[one.name], one.ran) for one in second if one.ran and one.name in first]
    right = sum(is_within_half(said, truth) for said, truth in pairs)
    print(f"the same document again, by its own last time: {right} of {len(pairs)}")


def is_within_half(said: float, truth: float) -> bool:
    return abs(said - truth) <= max(0.5 * truth, FINEST)


if __name__ == "__main__":
    main()
