"""Settings as rules."""

from datetime import timedelta

from docmill.cli import rules
from docmill.settings import read


def test_what_comes_by_a_bucket_is_tried_again_after_5_15_and_60_minutes() -> None:
    retry = rules.work_rules(read(), ["trades", "extract"]).retry_of("trades")
    assert retry.attempts == 4
    assert [retry.delay(attempt, 0.5) for attempt in (1, 2, 3)] == [
        timedelta(minutes=5),
        timedelta(minutes=15),
        timedelta(minutes=60),
    ]


def test_an_operator_may_set_another_rule_for_it() -> None:
    settings = read(retries={"trades": {"attempts": 2, "delays_seconds": [1]}})
    assert rules.work_rules(settings, ["trades"]).retry_of("trades").attempts == 2
