"""Which limit a run has reached: told from samples, without a clock."""

from datetime import timedelta
from typing import Final

import pytest

from docmill.sandbox.limits import (
    PATIENCE,
    ChannelState,
    LimitReached,
    ProcessSample,
    RunLimits,
    RunMeter,
)

LIMITS: Final = RunLimits(
    stall=timedelta(seconds=10), total=timedelta(seconds=6000), cpu=timedelta(seconds=600)
)
STEP: Final = 0.5


class Run:
    """A run that is looked at twice a second, on a machine that gives it a `share` of a CPU."""

    def __init__(self, *, measured: bool = True) -> None:
        self.meter: RunMeter = RunMeter(LIMITS, ProcessSample(0.0, 0.0))
        self.at: float = 0.0
        self.cpu: float = 0.0
        self.heard_at: float = 0.0
        self.measured: bool = measured

    def go(
        self, seconds: float, *, share: float = 0.0, eager: bool = False, every: float = 0.0
    ) -> LimitReached | None:
        """For so long, with a word `every` so often; the first limit it reaches."""
        until = self.at + seconds
        while self.at < until:
            self.at += STEP
            self.cpu += STEP * share
            if every and self.at - self.heard_at >= every:
                self.heard_at = self.at
            if cut := self.look(eager=eager):
                return cut
        return None

    def look(self, *, eager: bool = False, answering: bool = False) -> LimitReached | None:
        sample = ProcessSample(self.at, self.cpu if self.measured else None, eager)
        return self.meter.check(sample, ChannelState(self.heard_at, answering))


def test_a_silent_run_ends_by_the_cpu_it_used() -> None:
    run = Run()
    cut = run.go(60, share=1.0, eager=True)
    assert cut is not None
    assert (cut.code, cut.stalled, run.at) == ("TIMED_OUT", True, 10)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02, 0.001])
def test_the_same_run_on_a_busy_machine_lasts_as_much_cpu(share: float) -> None:
    run = Run()
    assert run.go(min(9 / share, 5000), share=share, eager=True) is None


def test_a_word_begins_a_new_silence() -> None:
    run = Run()
    assert run.go(500, share=1.0, eager=True, every=9) is None


def test_all_words_together_do_not_make_the_budget_larger() -> None:
    run = Run()
    cut = run.go(5000, share=0.5, eager=True, every=2)
    assert cut is not None
    assert (cut.limit, cut.stalled) == ("600 s of CPU (DOCMILL_CHILD_CPU_SECONDS=600)", False)
    assert run.cpu == 600


def test_a_run_that_sleeps_ends_by_the_wall_clock() -> None:
    run = Run()
    cut = run.go(6000, share=0.0)
    assert cut is not None
    assert (cut.detail, run.at) == ("did nothing for 100 s", PATIENCE * 10)


def test_a_run_that_only_says_it_is_there_does_nothing() -> None:
    run = Run()
    cut = run.go(6000, share=0.0001, every=1)
    assert cut is not None
    assert cut.detail == "did nothing for 100 s"


def test_a_run_that_would_work_if_it_could_is_left_alone() -> None:
    run = Run()
    assert run.go(5000, share=0.0, eager=True) is None


def test_nothing_lasts_for_ever() -> None:
    run = Run()
    cut = run.go(9000, share=0.0, eager=True)
    assert cut is not None
    assert (cut.detail, cut.limit) == (
        "still running after 6000 s",
        "6000 s (DOCMILL_CHILD_SECONDS=6000)",
    )


def test_a_run_that_waits_for_our_answer_is_not_idle() -> None:
    run = Run()
    for _ in range(1000):
        run.at += STEP
        assert run.look(answering=True) is None
    assert run.go(99) is None
    assert run.go(2) is not None


def test_time_in_which_the_worker_itself_was_stopped_does_not_count() -> None:
    run = Run()
    assert run.go(50) is None
    run.at += 3000
    assert run.look() is None
    assert run.go(99) is None
    assert run.go(2) is not None


def test_where_nobody_tells_the_cpu_silence_is_measured_generously() -> None:
    run = Run(measured=False)
    assert run.go(1000, every=90) is None
    cut = run.go(200)
    assert cut is not None
    assert cut.detail == "did nothing for 100 s"
