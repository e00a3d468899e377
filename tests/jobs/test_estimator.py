"""How long a job will take."""

import random
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.core.jobs import JobId
from docmill.db.pool import Pool
from docmill.jobs.estimator import (
    GUESS,
    TRUSTED,
    ActiveJob,
    Milestone,
    Speed,
    SpeedSample,
    estimate_left,
    list_milestones,
    simulate_queue,
)
from docmill.queue.progress import Progress, record_progress
from road import add_job, claim_one, finish

SAMPLES = st.lists(
    st.builds(SpeedSample, st.integers(1, 50_000_000), st.floats(0, 3600)), max_size=100
)
SIZES = st.integers(1, 50_000_000)


def test_nothing_measured_is_a_guess() -> None:
    assert Speed().seconds(10**6) == GUESS


def test_few_samples_give_their_middle() -> None:
    samples = [SpeedSample(1, 2.0), SpeedSample(10, 3.0), SpeedSample(100, 50.0)]
    assert Speed(samples).seconds(10**7) == 3.0


@given(st.floats(0.5, 20), st.floats(1e-7, 1e-4), st.integers(0, 10**6))
def test_twenty_jobs_of_a_kind_give_an_estimate_within_half(
    fixed: float, per_byte: float, seed: int
) -> None:
    """SPEC section 6: within 50 % once 20 jobs of the kind have run, with a fifth of noise."""
    dice = random.Random(seed)
    sizes = [dice.randrange(10_000, 5_000_000) for _ in range(20)]
    samples = [
        SpeedSample(size, (fixed + per_byte * size) * dice.uniform(0.9, 1.1)) for size in sizes
    ]
    size = sorted(sizes)[10]
    assert Speed(samples).seconds(size) == pytest.approx(fixed + per_byte * size, rel=0.5)


@given(SAMPLES, SIZES)
def test_an_estimate_is_never_longer_or_shorter_than_all_that_ran(
    samples: list[SpeedSample], size: int
) -> None:
    seconds = [one.seconds for one in samples] or [GUESS]
    assert min(seconds) <= Speed(samples).seconds(size) <= max(seconds)


def test_a_scan_is_told_from_a_long_text_by_its_pages() -> None:
    """Both have a megabyte: one page that is a picture, or two hundred of text."""
    scans = [SpeedSample(10**6 + number, 12.0, pages=1) for number in range(10)]
    texts = [SpeedSample(10**6 + number, 3.0, pages=200) for number in range(10)]
    speed = Speed([*scans, *texts])
    assert speed.seconds(10**6, 1) == 12.0
    assert speed.seconds(10**6, 180) == 3.0


@given(SAMPLES, SIZES, st.floats(0, 10_000), st.integers(0, 100))
def test_the_time_left_is_never_negative(
    samples: list[SpeedSample], size: int, elapsed: float, progress: int
) -> None:
    assert estimate_left(Speed(samples), size, elapsed=elapsed, progress=progress) >= 0


def test_a_run_that_goes_on_is_like_those_that_took_longer() -> None:
    speed = Speed([SpeedSample(1, float(each)) for each in (2, 2, 2, 2, 2, 9, 9, 9, 9)])
    assert estimate_left(speed, 1, elapsed=0, progress=0) == 2
    assert estimate_left(speed, 1, elapsed=3, progress=0) == 6
    assert estimate_left(speed, 1, elapsed=20, progress=0) == 0


def test_progress_is_read_as_the_share_of_time_that_others_had_behind_them() -> None:
    """Half of the steps were done after three quarters of the time, in seven runs of ten."""
    half = [Milestone(50, 0.75)] * 7 + [Milestone(50, 0.5)] * 3
    speed = Speed([SpeedSample(1, 10.0)] * 10, [*half, Milestone(90, 0.95)])
    assert estimate_left(speed, 1, elapsed=6, progress=50) == pytest.approx(2)
    assert estimate_left(speed, 1, elapsed=6, progress=55) == pytest.approx(2)
    assert estimate_left(speed, 1, elapsed=9, progress=90) == pytest.approx(1), "seen once only"


def test_the_time_left_follows_the_speed_first_and_the_own_pace_later() -> None:
    speed = Speed([SpeedSample(1, 10.0)])
    assert estimate_left(speed, 1, elapsed=2, progress=0) == 8
    assert estimate_left(speed, 1, elapsed=30, progress=0) == 0
    assert estimate_left(speed, 1, elapsed=10, progress=10) == pytest.approx(90 * 10 / TRUSTED)
    assert estimate_left(speed, 1, elapsed=50, progress=50) == pytest.approx(50)
    assert estimate_left(speed, 1, elapsed=100, progress=100) == 0


def test_a_guess_is_forgotten_as_soon_as_a_pace_shows() -> None:
    guess = Speed()
    assert estimate_left(guess, 1, elapsed=1, progress=0) == GUESS - 1
    assert estimate_left(guess, 1, elapsed=10, progress=10) == pytest.approx(90)


def test_the_wait_is_what_lies_before_it_in_the_line_each_as_long_as_its_like() -> None:
    """Two slots, one taken for 2 s more; before us wait a scan of 20 s and two texts of 2 s."""
    speeds = {
        "extract": Speed([SpeedSample(10**6, 20.0)]),
        "invoice": Speed([SpeedSample(10**4, 2.0)]),
    }
    runs = a_job("invoice", 10**4, elapsed=0.0)
    scan, *texts = a_job("extract", 10**6), a_job("invoice", 10**4), a_job("invoice", 10**4)
    begins, last = simulate_queue([runs, scan, *texts], speeds, 2)
    assert begins == {scan.id: 0.0, texts[0].id: 2.0, texts[1].id: 4.0}
    assert last == 6.0
    assert simulate_queue([], speeds, 0) == ({}, 0.0)


def a_job(pipeline: str, size: int, *, elapsed: float | None = None) -> ActiveJob:
    return ActiveJob(JobId(uuid4()), pipeline, size, None, 0, elapsed)


@pytest.mark.anyio
async def test_how_far_others_were_is_read_from_their_history(pool: Pool) -> None:
    async with pool.connection() as conn:
        await add_job(conn)
        claimed = await claim_one(conn)
    async with pool.connection() as conn:
        assert await record_progress(conn, claimed, Progress(60, "page 1 of 1", milestone=True))
        assert await list_milestones(conn, "extract") == [], "it has not ended"
    async with pool.connection() as conn:
        assert await finish(conn, claimed)
    async with pool.connection() as conn:
        (found,) = await list_milestones(conn, "extract")
        assert await list_milestones(conn, "trades") == []
    assert found.progress == 60
    assert 0 < found.share < 1
