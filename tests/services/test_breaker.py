"""The circuit breaker, with a clock made by the test."""

from datetime import timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from docmill.services.breaker import Breaker, BreakerConfig, Call, CircuitState

RULES = BreakerConfig()
WINDOW = RULES.window.total_seconds()
COOL_DOWN = RULES.cool_down.total_seconds()


def begun(breaker: Breaker, now: float) -> Call:
    call = breaker.begin(now)
    assert call is not None
    return call


def ended(breaker: Breaker, now: float, *outcomes: bool) -> None:
    """Calls one after the other; True succeeds."""
    for good in outcomes:
        call = begun(breaker, now)
        (breaker.record_success if good else breaker.record_failure)(call, now)


def opened(now: float = 0) -> Breaker:
    breaker = Breaker()
    ended(breaker, now, *[False] * RULES.fewest)
    assert breaker.state(now) is CircuitState.OPEN
    return breaker


def test_a_few_failures_open_nothing() -> None:
    breaker = Breaker()
    ended(breaker, 0, *[False] * (RULES.fewest - 1))
    assert breaker.state(0) is CircuitState.CLOSED


def test_half_of_the_calls_failing_opens_it() -> None:
    breaker = Breaker()
    ended(breaker, 0, *[True] * 5, *[False] * 4)
    assert breaker.state(0) is CircuitState.CLOSED
    ended(breaker, 0, False)
    assert breaker.state(0) is CircuitState.OPEN


def test_less_than_half_failing_keeps_it_closed() -> None:
    breaker = Breaker()
    ended(breaker, 0, *[True, True, False] * 20)
    assert breaker.state(0) is CircuitState.CLOSED


def test_failures_older_than_the_window_are_forgotten() -> None:
    breaker = Breaker()
    ended(breaker, 0, *[False] * 9)
    ended(breaker, WINDOW, *[False] * 9)
    assert breaker.state(WINDOW) is CircuitState.CLOSED
    ended(breaker, WINDOW, False)
    assert breaker.state(WINDOW) is CircuitState.OPEN


def test_while_open_every_call_is_refused() -> None:
    breaker = opened()
    assert not breaker.admits(COOL_DOWN - 0.001)
    assert breaker.begin(COOL_DOWN - 0.001) is None


def test_after_the_cool_down_one_call_is_let_through_and_no_second() -> None:
    breaker = opened()
    assert breaker.state(COOL_DOWN) is CircuitState.HALF_OPEN
    assert begun(breaker, COOL_DOWN).is_probe
    assert not breaker.admits(COOL_DOWN)
    assert breaker.begin(COOL_DOWN) is None


def test_a_good_probe_closes_it_and_what_was_before_is_forgotten() -> None:
    breaker = opened()
    breaker.record_success(begun(breaker, COOL_DOWN), COOL_DOWN)
    assert breaker.state(COOL_DOWN) is CircuitState.CLOSED
    ended(breaker, COOL_DOWN, *[False] * 9)
    assert breaker.state(COOL_DOWN) is CircuitState.CLOSED


def test_a_bad_probe_opens_it_for_another_cool_down() -> None:
    breaker = opened()
    breaker.record_failure(begun(breaker, COOL_DOWN), COOL_DOWN)
    assert breaker.state(2 * COOL_DOWN - 1) is CircuitState.OPEN
    assert breaker.state(2 * COOL_DOWN) is CircuitState.HALF_OPEN


def test_an_abandoned_probe_makes_room_for_another() -> None:
    breaker = opened()
    breaker.abandon(begun(breaker, COOL_DOWN))
    assert begun(breaker, COOL_DOWN).is_probe


def test_calls_from_before_it_opened_decide_nothing_when_they_come_late() -> None:
    breaker = Breaker()
    late = begun(breaker, 0)
    ended(breaker, 0, *[False] * RULES.fewest)
    breaker.record_success(late, COOL_DOWN)
    assert breaker.state(COOL_DOWN) is CircuitState.HALF_OPEN
    probe = begun(breaker, COOL_DOWN)
    breaker.record_failure(late, COOL_DOWN)
    breaker.abandon(late)
    assert not breaker.admits(COOL_DOWN)
    breaker.record_success(probe, COOL_DOWN)
    assert breaker.state(COOL_DOWN) is CircuitState.CLOSED


steps = st.lists(
    st.tuples(st.floats(0, 60), st.sampled_from(["begin", "good", "bad", "abandon"])), max_size=200
)


@given(st.floats(0, 1e6))
@example(482.5745475286515)  # and 30 more is less than 30 later, as floats go
def test_it_cools_down_at_any_reading_of_the_clock(now: float) -> None:
    breaker = Breaker()
    ended(breaker, now, *[False] * RULES.fewest)
    assert breaker.state(now + COOL_DOWN) is CircuitState.HALF_OPEN


@given(steps)
def test_whatever_happens_it_never_opens_without_cause_and_always_lets_one_through_again(
    given_steps: list[tuple[float, str]],
) -> None:
    rules = BreakerConfig(fewest=3, cool_down=timedelta(seconds=30))
    breaker, now, bad = Breaker(rules), 0.0, 0
    under_way: list[Call] = []
    for seconds, step in given_steps:
        now += seconds
        if step == "begin":
            admitted, call = breaker.admits(now), breaker.begin(now)
            assert admitted == (call is not None)
            under_way += [call] if call else []
        elif under_way:
            call = under_way.pop(0)
            bad += step == "bad"
            _end(breaker, call, step, now)
        assert bad or breaker.state(now) is CircuitState.CLOSED
    for call in under_way:
        breaker.abandon(call)
    assert breaker.admits(now + 30)


def _end(breaker: Breaker, call: Call, step: str, now: float) -> None:
    if step == "abandon":
        breaker.abandon(call)
    else:
        (breaker.record_success if step == "good" else breaker.record_failure)(call, now)
