"""How long runs take, learned from those before."""

import random
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.jobs import JobId
from docmill.jobs.pace import (
    GUESS,
    OUTLIVED,
    DocumentSize,
    History,
    PastRun,
    QueueAhead,
    RunState,
    choose_likeliest,
)

SIZES = st.builds(
    DocumentSize,
    st.integers(1, 50_000_000),
    st.none() | st.integers(1, 500),
    st.integers(0, 500),
)
SECONDS = st.floats(0, 3600)
WORDS = st.lists(st.tuples(st.integers(0, 99), st.floats(0, 3600)), max_size=4)


def make_run(size: DocumentSize, seconds: float, words: list[tuple[int, float]]) -> PastRun:
    told = sorted(words)
    return PastRun(size, seconds, [word[0] for word in told], [word[1] for word in told])


RUNS = st.builds(make_run, SIZES, SECONDS, WORDS)
STATES = st.builds(RunState, st.floats(0, 10_000), st.integers(0, 100), st.floats(0, 10_000))
HISTORIES = st.lists(RUNS, max_size=60).map(History)

TEXT = DocumentSize(100_000, 4)
SCAN = DocumentSize(300_000, 3, 3)


def test_nothing_measured_is_a_guess_until_a_pace_shows() -> None:
    nothing = History()
    assert nothing.estimate_left(TEXT) == GUESS
    assert nothing.estimate_left(TEXT, RunState(1.0)) == GUESS - 1
    assert nothing.estimate_left(TEXT, RunState(99.0)) == 0
    assert nothing.estimate_left(TEXT, RunState(10.0, 10, 10.0)) == pytest.approx(90)


@given(HISTORIES, SIZES, STATES)
def test_the_time_left_is_never_negative(
    history: History, size: DocumentSize, state: RunState
) -> None:
    assert history.estimate_left(size, state) >= 0
    assert history.average_left(size, state) >= 0


@given(HISTORIES, st.integers(1, 10**7), st.integers(1, 400), st.integers(0, 100))
def test_more_pages_are_never_expected_to_take_less(
    history: History, size: int, pages: int, more: int
) -> None:
    few, many = DocumentSize(size, pages), DocumentSize(size, pages + more)
    assert history.expect(few) <= history.expect(many)
    few, many = DocumentSize(size, pages, pages), DocumentSize(size, pages + more, pages + more)
    assert history.expect(few) <= history.expect(many)


@given(st.floats(0.2, 5), st.floats(0.01, 0.5), st.floats(1, 10), st.integers(0, 10**6))
def test_after_twenty_runs_nine_of_ten_are_within_half(
    start: float, per_page: float, per_scan: float, seed: int
) -> None:
    """SPEC section 6. Texts and scans of all lengths, a fifth of noise, half of them learned."""
    dice = random.Random(seed)
    runs = [_make_run(dice, start, per_page, per_scan) for _ in range(20)]
    history = History(runs)
    new = [_make_run(dice, start, per_page, per_scan) for _ in range(50)]
    right = sum(
        abs(history.estimate_left(one.size) - one.seconds) <= one.seconds / 2 for one in new
    )
    assert right >= 45


def _make_run(
    dice: random.Random, start: float, per_page: float, per_scan: float, slower: float = 1.0
) -> PastRun:
    pages, scanned = int(60 ** dice.random()), dice.random() < 0.3
    seconds = start + pages * (per_scan if scanned else per_page)
    size = DocumentSize(pages * 50_000, pages, pages if scanned else 0)
    return PastRun(size, slower * seconds * dice.uniform(0.8, 1.2))


@given(st.floats(2, 5), st.booleans(), st.integers(0, 10**6))
def test_a_machine_that_became_slower_or_faster_is_followed(
    times: float, slower: bool, seed: int
) -> None:
    """After the last 60 runs of 160 were at another speed."""
    dice, factor = random.Random(seed), times if slower else 1 / times
    before = [_make_run(dice, 1.0, 0.1, 3.0) for _ in range(100)]
    after = [_make_run(dice, 1.0, 0.1, 3.0, factor) for _ in range(60)]
    history = History([*after, *before])
    new = [_make_run(dice, 1.0, 0.1, 3.0, factor) for _ in range(50)]
    right = sum(
        abs(history.estimate_left(one.size) - one.seconds) <= one.seconds / 2 for one in new
    )
    assert right >= 40


def test_a_scan_is_told_from_a_text_of_as_many_bytes_and_pages() -> None:
    texts = [PastRun(DocumentSize(10**6, 10), 1.0)] * 10
    scans = [PastRun(DocumentSize(10**6, 10, 10), 30.0)] * 10
    history = History([*texts, *scans])
    assert history.estimate_left(DocumentSize(10**6, 10)) == pytest.approx(1.0, rel=0.1)
    assert history.estimate_left(DocumentSize(10**6, 20, 20)) == pytest.approx(60.0, rel=0.2)


def test_pages_that_nobody_knows_are_as_many_as_others_have_for_their_bytes() -> None:
    dice = random.Random(1)
    history = History([_make_run(dice, 0.1, 0.5, 3.0) for _ in range(50)])
    hidden, known = DocumentSize(30 * 50_000), DocumentSize(30 * 50_000, 30)
    assert history.expect(hidden) == pytest.approx(history.expect(known))
    assert history.expect(DocumentSize(10)) == history.expect(DocumentSize(10, 1))


def test_a_run_that_goes_on_is_like_those_that_took_longer() -> None:
    history = History([PastRun(TEXT, float(each)) for each in (2, 2, 2, 2, 2, 9, 9, 9, 9)])
    assert history.estimate_left(TEXT) == pytest.approx(2)
    assert history.estimate_left(TEXT, RunState(3.0)) == pytest.approx(6)
    assert history.estimate_left(TEXT, RunState(20.0)) == OUTLIVED * 20


def test_progress_is_read_as_the_time_that_was_left_to_others() -> None:
    """They said 50 % after 9 of 10 seconds; what lies between two words went evenly."""
    history = History([PastRun(SCAN, 10.0, [50], [9.0])] * 8)
    assert history.estimate_left(SCAN, RunState(9.0, 50, 9.0)) == pytest.approx(1.0)
    assert history.estimate_left(SCAN, RunState(4.5, 25, 4.5)) == pytest.approx(5.5)
    assert history.estimate_left(SCAN, RunState(9.5, 50, 9.0)) == pytest.approx(0.5)
    assert history.estimate_left(SCAN, RunState(9.5, 75, 9.5)) == pytest.approx(0.5)


def test_a_word_of_progress_that_few_others_gave_is_not_believed() -> None:
    silent = [PastRun(SCAN, 10.0)] * 8
    history = History([*silent, PastRun(SCAN, 10.0, [50], [9.0])])
    assert history.estimate_left(SCAN, RunState(4.0, 50, 4.0)) == pytest.approx(6.0)


@given(st.lists(st.floats(0.01, 1000), min_size=1, max_size=30))
def test_the_likeliest_time_is_within_half_of_as_many_as_any_other(seconds: list[float]) -> None:
    def count(told: float) -> int:
        return sum(abs(told - each) <= each / 2 + 1e-9 for each in seconds)

    assert count(choose_likeliest(seconds)) == max(map(count, seconds))


def test_the_wait_is_what_lies_before_it_in_the_line() -> None:
    """Two slots, one taken for 2 s more; before us wait one of 20 s and two of 2 s."""
    line, jobs = QueueAhead([2.0], slots=2), [JobId(uuid4()) for _ in range(5)]
    begins = [line.begin_of(job, takes) for job, takes in zip(jobs, (20, 2, 2, 1, 1), strict=True)]
    assert begins == [0.0, 2.0, 4.0, 6.0, 7.0]
    assert line.begin_of(jobs[2], 99.0) == 4.0, "it has its place already"
    assert jobs[2] in line
    assert JobId(uuid4()) not in line


@given(st.lists(st.floats(0, 100), max_size=30), st.integers(1, 8), st.floats(0, 100))
def test_more_work_ahead_never_means_an_earlier_begin(
    ahead: list[float], slots: int, more: float
) -> None:
    def begin(waits: list[float]) -> float:
        line = QueueAhead(slots=slots)
        for takes in waits:
            line.begin_of(JobId(uuid4()), takes)
        return line.begin_of(JobId(uuid4()), 1.0)

    assert begin(ahead) <= begin([*ahead, more])


def test_jobs_that_nobody_looked_at_are_waited_for_too() -> None:
    line = QueueAhead(slots=2)
    for _ in range(4):
        line.begin_of(JobId(uuid4()), 3.0)
    line.add_unseen(10)
    assert line.begin_of(JobId(uuid4()), 1.0) == pytest.approx(6 + 10 * 3 / 2)
