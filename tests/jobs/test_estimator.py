"""How long a job will take."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.jobs.estimator import (
    GUESS,
    TRUSTED,
    Speed,
    SpeedSample,
    estimate_left,
    estimate_wait,
    measure_speed,
)

SAMPLES = st.lists(
    st.builds(SpeedSample, st.integers(1, 50_000_000), st.floats(0, 3600)), max_size=100
)
SIZES = st.integers(1, 50_000_000)


def test_nothing_measured_is_a_guess() -> None:
    assert measure_speed([]).seconds(10**6) == GUESS


def test_few_samples_give_their_middle() -> None:
    samples = [SpeedSample(1, 2.0), SpeedSample(10, 3.0), SpeedSample(100, 50.0)]
    assert measure_speed(samples).seconds(10**7) == 3.0


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
    assert measure_speed(samples).seconds(size) == pytest.approx(fixed + per_byte * size, rel=0.5)


@given(SAMPLES, SIZES)
def test_an_estimate_is_never_negative_and_bigger_is_never_faster(
    samples: list[SpeedSample], size: int
) -> None:
    speed = measure_speed(samples)
    assert 0 <= speed.seconds(size) <= speed.seconds(size * 2)


@given(SAMPLES, SIZES, st.floats(0, 10_000), st.integers(0, 100))
def test_the_time_left_is_never_negative(
    samples: list[SpeedSample], size: int, elapsed: float, progress: int
) -> None:
    assert estimate_left(measure_speed(samples), size, elapsed=elapsed, progress=progress) >= 0


def test_the_time_left_follows_the_speed_first_and_the_own_pace_later() -> None:
    speed = Speed(10.0)
    assert estimate_left(speed, 1, elapsed=2, progress=0) == 8
    assert estimate_left(speed, 1, elapsed=30, progress=0) == 0
    assert estimate_left(speed, 1, elapsed=10, progress=10) == pytest.approx(90 * 10 / TRUSTED)
    assert estimate_left(speed, 1, elapsed=50, progress=50) == pytest.approx(50)
    assert estimate_left(speed, 1, elapsed=100, progress=100) == 0


def test_a_guess_is_forgotten_as_soon_as_a_pace_shows() -> None:
    guess = measure_speed([])
    assert estimate_left(guess, 1, elapsed=1, progress=0) == GUESS - 1
    assert estimate_left(guess, 1, elapsed=10, progress=10) == pytest.approx(90)


@pytest.mark.parametrize(("ahead", "slots", "seconds"), [(0, 3, 0), (6, 3, 20), (6, 0, 60)])
def test_the_wait_is_the_line_divided_among_the_slots(
    ahead: int, slots: int, seconds: float
) -> None:
    assert estimate_wait(ahead, slots, Speed(10.0), 1) == seconds
