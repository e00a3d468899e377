"""Which code a run without a result gets; no word of a child is trusted."""

import json
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.faults import FAULTS
from docmill.core.jobs import About, Usage
from docmill.sandbox.limits import LimitReached, RunLimits
from docmill.sandbox.outcome import ChildExit, Task, clean_line, judge, read_about
from docmill.sandbox.protocol import NO_MEMORY_EXIT, Frame, FrameKind

TEXT = Task("call", "a", "text/plain")
PDF = Task("call", "a", "application/pdf")
LIMITS = RunLimits()
CUT = LimitReached("TIMED_OUT", "no progress")


@pytest.mark.parametrize(
    ("number", "text", "pdf"),
    [
        (-signal.SIGABRT, "OUT_OF_MEMORY", "BAD_PDF"),
        (-signal.SIGTRAP, "OUT_OF_MEMORY", "BAD_PDF"),
        (-signal.SIGILL, "OUT_OF_MEMORY", "BAD_PDF"),
        (NO_MEMORY_EXIT, "OUT_OF_MEMORY", "BAD_PDF"),
        (-signal.SIGXCPU, "TIMED_OUT", "TIMED_OUT"),
        (-signal.SIGSEGV, "CRASHED", "CRASHED"),
        (-signal.SIGBUS, "CRASHED", "CRASHED"),
        (-signal.SIGKILL, "CRASHED", "CRASHED"),
        (-signal.SIGSYS, "CRASHED", "CRASHED"),
        (0, "CRASHED", "CRASHED"),
        (1, "CRASHED", "CRASHED"),
        (None, "CRASHED", "CRASHED"),
    ],
)
def test_an_exit_has_a_code(number: int | None, text: str, pdf: str) -> None:
    assert judge(None, ChildExit(number), cut=None, task=TEXT, limits=LIMITS).code == text
    assert judge(None, ChildExit(number), cut=None, task=PDF, limits=LIMITS).code == pdf


def test_a_fork_that_failed_is_retried() -> None:
    failed = judge(None, ChildExit(-1, not_started=11), cut=None, task=TEXT, limits=LIMITS)
    assert (failed.code, failed.detail) == ("CRASHED", "no child could be started, errno 11")


def test_what_we_did_explains_the_exit_it_caused() -> None:
    failed = judge(None, ChildExit(-signal.SIGKILL), cut=CUT, task=TEXT, limits=LIMITS)
    assert failed.code == "TIMED_OUT"


@pytest.mark.parametrize(
    ("cpu_ms", "stalled", "again"),
    [(9_900, True, False), (3_000, True, True), (3_000, False, False)],
)
def test_a_stall_is_worth_another_try_where_the_machine_was_busy(
    cpu_ms: int, stalled: bool, again: bool
) -> None:
    cut = LimitReached("TIMED_OUT", "no progress", "10 s of CPU (A=10)", stalled=stalled)
    ending = ChildExit(-signal.SIGKILL, usage=Usage(duration_ms=10_000, cpu_ms=cpu_ms))
    failed = judge(None, ending, cut=cut, task=TEXT, limits=LIMITS)
    assert failed.stalled == again
    assert failed.message == f"{FAULTS['TIMED_OUT'].says}: 10 s of CPU (A=10)"


def test_what_the_kernel_ended_names_the_setting() -> None:
    ending = ChildExit(-signal.SIGXCPU, usage=Usage(cpu_ms=605_000))
    failed = judge(None, ending, cut=None, task=TEXT, limits=LIMITS)
    assert failed.message.endswith("605 s of CPU (DOCMILL_CHILD_CPU_SECONDS=600)")


def test_a_failure_that_nobody_repeats_promises_no_retry() -> None:
    failed = judge(None, ChildExit(-signal.SIGSEGV), cut=None, task=TEXT, limits=LIMITS)
    assert failed.as_fault().fault.says == failed.message == FAULTS["CRASHED"].final


def test_a_larger_document_may_use_more() -> None:
    assert LIMITS.budget(84 << 10).total_seconds() == 600
    assert LIMITS.budget(10 << 20).total_seconds() == 1200


def test_a_child_that_gave_up_was_only_slow_to_go() -> None:
    cut = LimitReached("CRASHED", "closed its channel and stayed")
    failed = judge(None, ChildExit(-signal.SIGABRT), cut=cut, task=PDF, limits=LIMITS)
    assert failed.code == "BAD_PDF"


def test_a_lost_fork_server_is_no_document_s_fault() -> None:
    assert judge(None, ChildExit(), cut=CUT, task=TEXT, limits=LIMITS).code == "CRASHED"


KEYS = st.sampled_from(["code", "detail", "stack", "exhausted"])
VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(sorted(FAULTS))
WORDS = st.dictionaries(KEYS, VALUES) | st.lists(VALUES) | VALUES


@given(words=st.binary() | WORDS.map(lambda words: json.dumps(words).encode()))
def test_any_last_word_gives_a_known_code_and_plain_lines(words: bytes) -> None:
    frame = Frame(FrameKind.FAULT, words)
    failed = judge(frame, ChildExit(0), cut=None, task=TEXT, limits=LIMITS)
    assert failed.code in FAULTS
    assert failed.detail.isprintable()
    assert all(line.isprintable() for line in failed.stack.split("\n"))


def test_text_from_a_child_is_made_plain() -> None:
    assert clean_line("a\nb\x1b[31m\ud800", 100) == "a b [31m "
    assert len(clean_line("x" * 999)) == 300


def test_what_a_child_tells_of_its_reading_is_cleaned() -> None:
    words = {"summary": {"title": "a\x00b", "x": 1}, "decision": "so\nit is", "pipeline": "trades"}
    assert read_about(json.dumps(words).encode()) == About(
        {"title": "ab"}, "trades", None, "so it is"
    )


@given(st.binary(max_size=200))
def test_whatever_a_child_tells_of_its_reading_is_heard(payload: bytes) -> None:
    assert isinstance(read_about(payload), About)
