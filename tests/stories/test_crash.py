"""Kills, freezes and a database restart in the middle of work: nothing lost, nothing done twice.

The storm has a process of its own: it forks its workers, and a test runner is no place to fork.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
STORM: Final = {"jobs": 400, "kills": 40, "stops": 6, "restarts": 1, "seed": 20261115, "limit": 60}
FREEZES: Final = {"jobs": 300, "kills": 0, "stops": 8, "restarts": 0, "limit": 5}
SEEDS: Final = (1, 2, 3)


def storm(plan: dict[str, int], *more: str) -> "subprocess.CompletedProcess[str]":
    """Leaves with 0 when the verdict is as it must be: clean with the fence, not clean without."""
    options = [word for name, number in plan.items() for word in (f"--{name}", str(number))]
    command = [sys.executable, "-m", "bench.chaos", *options, *more]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


def test_every_acknowledged_job_ends_once_whatever_is_killed_frozen_or_restarted() -> None:
    ran = storm(STORM)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "acknowledged=400, complete=400, failed=0," in ran.stdout


def test_without_the_fence_a_frozen_worker_writes_over_another() -> None:
    """The negative control: what the storm above proves, it proves because of the fence."""
    said: list[str] = []
    for seed in SEEDS:
        ran = storm(FREEZES | {"seed": seed}, "--without-fence")
        said.append(ran.stdout + ran.stderr)
        if ran.returncode == 0:
            assert "Verdict(" in ran.stdout
            return
    pytest.fail("no late write, the storm is too mild to prove anything:\n" + "\n".join(said))
