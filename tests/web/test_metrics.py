"""Metrics of one process: who sends how much."""

import pytest

from docmill.core.meters import Meter, Meters
from docmill.core.parts import DOWN, OK, Parts
from docmill.web.metrics import Metrics, OwnerPace, ProcessCollector


def test_the_busiest_owner_is_counted_by_the_minute_and_named_in_the_log_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = [0.0]
    pace = OwnerPace(lambda: now[0])
    for _ in range(1001):
        pace.note("user:ann")
    pace.note("user:bob")
    assert pace.measure() == 1001
    now[0] = 61
    pace.note("user:bob")
    assert pace.measure() == 1001
    now[0] = 121
    assert pace.measure() == 1
    now[0] = 1000
    assert pace.measure() == 0
    logged = capsys.readouterr().out
    assert logged.count("owner.busy") == 1
    assert "user:ann" in logged


def test_requests_are_counted_by_the_kind_of_their_owner() -> None:
    metrics = Metrics(ProcessCollector(Parts(), Meters()))
    facts = {"method": "GET", "route": "/api/jobs", "owner": "user:ann", "key": None}
    metrics.note_request(facts, status=200, seconds=0.1)
    metrics.note_request({**facts, "key": True}, status=429, seconds=0.1)
    metrics.note_request({**facts, "owner": None}, status=401, seconds=0.1)
    text = metrics.text().decode()
    for line in (
        'owner_requests_total{kind="user"} 1.0',
        'owner_requests_total{kind="key"} 1.0',
        'rate_limited_requests_total{kind="key"} 1.0',
        'rate_limited_requests_total{kind="user"} 0.0',
        "busiest_owner_requests 2.0",
    ):
        assert line in text, line


def test_a_process_tells_what_its_parts_measure() -> None:
    parts, meters = Parts(), Meters()
    parts.note("worker", OK)
    parts.note("poller", DOWN)
    meters.add(Meter("turns", "Says", lambda: {("a", "open"): 2}, ("service", "to"), counts=True))
    text = Metrics(ProcessCollector(parts, meters)).text().decode()
    for line in (
        'part_up{part="worker"} 1.0',
        'part_up{part="poller"} 0.0',
        'turns_total{service="a",to="open"} 2.0',
    ):
        assert line in text, line
