"""Kills, freezes and a database restart in the middle of work: nothing lost, nothing done twice.

Each has a process of its own: it forks its workers, and a test runner is no place to fork.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.frozen import POINTS

ROOT: Final = Path(__file__).parents[2]


def run(*words: str | int) -> "subprocess.CompletedProcess[str]":
    """Leaves with 0 when the verdict is as it must be: clean with the fence, not clean without."""
    ran = subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=ROOT, capture_output=True, text=True, timeout=1000, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran


def test_every_acknowledged_job_ends_once_whatever_is_killed_frozen_or_restarted() -> None:
    ran = run(
        "bench.chaos", "--jobs", 400, "--kills", 40, "--stops", 6, "--restarts", 1,
        "--seed", 20261115, "--limit", 600,
    )  # fmt: skip
    assert "acknowledged=400, complete=400, failed=0," in ran.stdout


def test_without_the_fence_every_worker_frozen_in_a_run_doubles_a_job() -> None:
    """The negative control of the storm: no seed may pass by luck."""
    said = run(
        "bench.chaos", "--jobs", 40, "--kills", 4, "--stops", 2, "--restarts", 0, "--limit", 600,
        "--without-fence",
    ).stdout  # fmt: skip
    assert "2 of 2 stops froze a run until another worker had its job" in said
    assert "doubled=0" not in said


def test_every_event_reaches_a_receiver_that_fails_however_often_deliverers_are_killed() -> None:
    said = run("bench.webhooks", "--events", 60, "--kills", 6, "--seed", 20261117).stdout
    assert '"delivered": 60' in said
    assert '"forged": 0' in said
    assert '"kills": 6' in said


def test_a_worker_frozen_at_any_point_changes_nothing_once_another_has_its_job() -> None:
    said = run("bench.frozen").stdout
    for point in POINTS:
        assert f"{point}: frozen 1 times, 0 late writes accepted" in said


def test_without_the_fence_a_frozen_worker_writes_over_another() -> None:
    """The negative control: what the two above prove, they prove because of the fence."""
    points = ("claim.after", "run.started", "result.stored", "settle.before")
    said = run("bench.frozen", "--without-fence", "--points", *points).stdout
    for point in points:
        assert f"{point}: frozen 1 times, 1 late writes accepted" in said
