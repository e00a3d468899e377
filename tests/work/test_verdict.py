"""Which code a run without a result gets; no word of a child is trusted."""

import json
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.faults import FAULTS
from docmill.work.framing import NO_MEMORY_EXIT, Frame, Kind
from docmill.work.verdict import Cut, Ending, Limits, Task, judge, plain

TEXT = Task("call", "a", "text/plain")
PDF = Task("call", "a", "application/pdf")
LIMITS = Limits()
CUT = Cut("TIMED_OUT", "no progress")


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
    assert judge(None, Ending(number), cut=None, task=TEXT, limits=LIMITS).code == text
    assert judge(None, Ending(number), cut=None, task=PDF, limits=LIMITS).code == pdf


def test_a_fork_that_failed_is_retried() -> None:
    failed = judge(None, Ending(-1, not_started=11), cut=None, task=TEXT, limits=LIMITS)
    assert (failed.code, failed.detail) == ("CRASHED", "no child could be started, errno 11")


def test_what_we_did_explains_the_exit_it_caused() -> None:
    failed = judge(None, Ending(-signal.SIGKILL), cut=CUT, task=TEXT, limits=LIMITS)
    assert failed.code == "TIMED_OUT"


def test_a_child_that_gave_up_was_only_slow_to_go() -> None:
    cut = Cut("CRASHED", "closed its channel and stayed")
    failed = judge(None, Ending(-signal.SIGABRT), cut=cut, task=PDF, limits=LIMITS)
    assert failed.code == "BAD_PDF"


def test_a_lost_nursery_is_no_document_s_fault() -> None:
    assert judge(None, Ending(), cut=CUT, task=TEXT, limits=LIMITS).code == "CRASHED"


KEYS = st.sampled_from(["code", "detail", "stack", "exhausted"])
VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(sorted(FAULTS))
WORDS = st.dictionaries(KEYS, VALUES) | st.lists(VALUES) | VALUES


@given(words=st.binary() | WORDS.map(lambda words: json.dumps(words).encode()))
def test_any_last_word_gives_a_known_code_and_plain_lines(words: bytes) -> None:
    frame = Frame(Kind.FAULT, words)
    failed = judge(frame, Ending(0), cut=None, task=TEXT, limits=LIMITS)
    assert failed.code in FAULTS
    assert failed.detail.isprintable()
    assert all(line.isprintable() for line in failed.stack.split("\n"))


def test_text_from_a_child_is_made_plain() -> None:
    assert plain("a\nb\x1b[31m\ud800", 100) == "a b [31m "
    assert len(plain("x" * 999)) == 300
