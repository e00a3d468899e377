"""A document is approved by rule, or as little as possible is looked at."""

from docmill.core.promise import make_promise, name_rule


def test_sure_values_are_approved_by_the_rule() -> None:
    found = make_promise({"a": 0.995, "b": 0.99}, 0.01)
    assert found.doubtful == ()
    assert found.approved_by == "rule <= 1 %"


def test_only_as_many_values_as_the_promise_needs_are_looked_at() -> None:
    sure = {f"v{at}": 0.999 for at in range(20)}
    found = make_promise({**sure, "low": 0.6, "lower": 0.55}, 0.01)
    assert found.doubtful == ("lower", "low")
    assert found.approved_by is None


def test_a_value_that_is_rather_wrong_is_looked_at_however_many_are_right() -> None:
    sure = {f"v{at}": 0.9999 for at in range(200)}
    assert make_promise({**sure, "low": 0.4}, 0.01).doubtful == ("low",)


def test_what_is_surely_wrong_comes_first_and_counts_as_seen() -> None:
    found = make_promise({"sum": 0.2, "other": 0.995}, 0.01, certain=["sum", "missing"])
    assert found.doubtful == ("sum", "missing")
    assert found.approved_by is None


def test_nothing_read_is_nothing_approved() -> None:
    assert make_promise({}, 0.01).approved_by is None


def test_a_rate_of_nought_approves_nothing() -> None:
    assert make_promise({"a": 0.999}, 0.0).approved_by is None


def test_what_is_expected_of_documents_decides() -> None:
    values = {"a": 0.97, "b": 0.98}
    assert make_promise(values, 0.01).approved_by is None
    assert make_promise(values, 0.01, expect=lambda share: share / 10).approved_by


def test_a_rule_is_named_by_its_rate() -> None:
    assert name_rule(0.005) == "rule <= 0.5 %"
