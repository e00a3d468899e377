"""How far the time left is off: a mixed stream of documents through a real docmill.

    python -m bench.estimates ../shared/corpus --warm 100 --jobs 60

Documents are uploaded some at a time, so that some wait. The estimates given at the upload, when
the job was first seen running and when it was first seen half done are held against the truth,
which is the time on the clock. Each is counted twice: within half of the truth, and within half of
it or a second, which is the finest that a person is told.

On a busy machine the truth itself wavers, so the load is told. `--record` keeps what was seen.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx2

from bench.mixed import SEED, Sample, choose_samples

BURST: Final = 12  # files at a time, at most
LEFT: Final = 2  # so many are still at work when the next ones come
HALF: Final = 50  # % progress
FINEST: Final = 1.0  # seconds: pages and commands tell whole ones


@dataclass(slots=True)
class Watched:
    """One job: when each estimate was given, what it said, and when the job was done."""

    name: str
    bytes: int
    at_upload: tuple[float, float]
    at_start: tuple[float, float] | None = None
    done: float | None = None
    seen: list[tuple[float, int, float]] = field(default_factory=list[tuple[float, int, float]])
    job: dict[str, Any] = field(default_factory=dict[str, Any])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--warm", type=int, default=100, help="So many run before it counts.")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--record", type=Path, help="Write what was seen to this file.")
    parser.add_argument("--url", help="A docmill that runs already; else one is started.")
    given = parser.parse_args()
    samples = list(choose_samples(given.corpus, given.warm + given.jobs, given.seed))
    with serve(given.url) as url, httpx2.Client(base_url=url, timeout=120) as client:
        warm = run(client, samples[: given.warm])
        load = os.getloadavg()[0]
        measured = run(client, samples[given.warm :])
    if given.record:
        given.record.write_text("\n".join(json.dumps(asdict(one)) for one in [*warm, *measured]))
    report(measured)
    print(f"load {load:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


@contextmanager
def serve(url: str | None) -> Generator[str]:
    if url:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="docmill-estimates-") as folder:
        server = start_server(Path(folder))
        try:
            yield wait_for_server(Path(folder))
        finally:
            server.terminate()
            server.wait(60)


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


def run(client: httpx2.Client, samples: Sequence[Sample]) -> list[Watched]:
    """Some at a time; the next come when nearly all of the last are done, so that some wait."""
    dice, left = random.Random(SEED), list(samples)
    watched: dict[str, Watched] = {}
    while left:
        count = dice.randint(1, BURST)
        for sample in left[:count]:
            upload(client, sample, watched)
        del left[:count]
        look_until(client, watched, at_work=LEFT)
    look_until(client, watched, at_work=0)
    return list(watched.values())


def look_until(client: httpx2.Client, watched: dict[str, Watched], *, at_work: int) -> None:
    while sum(one.done is None for one in watched.values()) > at_work:
        for job_id, one in watched.items():
            if one.done is None:
                note(one, client.get(f"/api/jobs/{job_id}").json())
        time.sleep(0.1)


def upload(client: httpx2.Client, sample: Sample, watched: dict[str, Watched]) -> None:
    files, data = {"file": (sample.name, sample.content)}, {"pipeline": sample.pipeline}
    answer = client.post("/api/upload", files=files, data=data).json()
    if answer.get("outcome") == "created":
        told = (time.time(), answer["estimatedTime"])
        watched[answer["jobId"]] = Watched(sample.name, answer["job"]["bytes"], told)


def note(one: Watched, job: dict[str, Any]) -> None:
    told = (time.time(), job["estimated_seconds_left"])
    if job["status"] == "processing":
        one.at_start = one.at_start or told
        one.seen.append((told[0], job["progress"], told[1]))
    if ended := job["completed_at"] or job["failed_at"] or job["cancelled_at"]:
        one.job = job
        one.done = datetime.fromisoformat(ended).astimezone(UTC).timestamp()


def report(measured: Sequence[Watched]) -> None:
    moments = {
        "at upload": [(one, one.at_upload) for one in measured],
        "at start": [(one, one.at_start) for one in measured if one.at_start],
        "half-way by the clock": [(one, at) for one in measured if (at := find_half_time(one))],
        f"at {HALF} % progress": [(one, at) for one in measured if (at := find_half_told(one))],
    }
    for name, estimates in moments.items():
        pairs = [(told, (one.done or at) - at) for one, (at, told) in estimates]
        print(f"{name}: {describe_pairs(pairs)}")
        long = [(told, truth) for told, truth in pairs if truth > 2 * FINEST]
        print(f"  of those that took over {2 * FINEST:g} s: {describe_pairs(long)}")


def find_half_time(one: Watched) -> tuple[float, float] | None:
    """What was told last before half of the run was over."""
    began = datetime.fromisoformat(one.job["started_at"]).timestamp()
    half = ((one.done or began) + began) / 2
    before = [(at, told) for at, _, told in one.seen if at <= half]
    return before[-1] if before else None


def find_half_told(one: Watched) -> tuple[float, float] | None:
    """What was told with the first word of a run that it is half done."""
    return next(((at, told) for at, progress, told in one.seen if progress >= HALF), None)


def describe_pairs(pairs: Sequence[tuple[float, float]]) -> str:
    half = sum(abs(told - truth) <= 0.5 * truth for told, truth in pairs)
    near = sum(abs(told - truth) <= max(0.5 * truth, FINEST) for told, truth in pairs)
    ratios = sorted(told / max(truth, 0.01) for told, truth in pairs)
    middle = f", middle ratio {ratios[len(ratios) // 2]:.2f}" if ratios else ""
    return f"{half} of {len(pairs)} within half, {near} within half or a second{middle}"


if __name__ == "__main__":
    main()
