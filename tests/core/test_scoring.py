"""Values held against the truth, and the diagram of it."""

import pytest

from docmill.core.reliability import draw_reliability
from docmill.core.scoring import JudgedValue, list_steps, tally, tally_sure


def _value(right: bool, sure: float, value: str | None = "x") -> JudgedValue:
    return JudgedValue("a.pdf", "net", "net", right, "x", value, sure)


VALUES = [_value(True, 0.99), _value(False, 0.93), _value(True, 0.6), _value(False, 0.0, None)]


def test_what_was_not_read_is_missing_and_not_wrong_among_the_sure() -> None:
    assert tally(VALUES).share == pytest.approx(0.5)
    assert (tally_sure(VALUES).count, tally_sure(VALUES).precision) == (2, 0.5)


def test_steps_tell_how_many_of_so_sure_values_were_right() -> None:
    found = [(step.low, step.count, step.right) for step in list_steps(VALUES)]
    assert found == [(0.5, 1, 1.0), (0.9, 1, 0.0), (0.99, 1, 1.0)]


def test_the_diagram_has_a_dot_for_each_step_and_says_it_in_words() -> None:
    drawn = draw_reliability(list_steps(VALUES))
    assert drawn.count("<circle") == 3
    assert "0.50: 100% of 1" in drawn
    assert draw_reliability([]) == ""
