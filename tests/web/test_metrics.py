"""Metrics of one process: who sends how much."""

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from docmill.core.meters import Meter, Meters
from docmill.core.parts import DOWN, OK, Parts
from docmill.web.metrics import (
    FAST,
    AnswerTimes,
    Metrics,
    OwnerPace,
    ProcessCollector,
    TallyCounter,
)


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


def test_answer_times_are_told_as_prometheus_tells_a_histogram() -> None:
    times, registry, its = AnswerTimes("took", "Says"), CollectorRegistry(), CollectorRegistry()
    registry.register(times)
    peer = Histogram("took", "Says", ("method", "route", "status"), buckets=FAST, registry=its)
    for seconds in (0.0, 0.005, 0.0051, 0.3, 60, 61):
        for status in (200, 404):
            times.note(("GET", "/a", status), seconds)
            peer.labels("GET", "/a", str(status)).observe(seconds)
    assert _list_samples(registry) == _list_samples(its)


def test_what_the_event_loop_counts_is_told_as_prometheus_tells_a_counter() -> None:
    registry, its = CollectorRegistry(), CollectorRegistry()
    counter, peer = (
        TallyCounter("seen", "Says", ["kind"]),
        Counter("seen", "Says", ["kind"], registry=its),
    )
    registry.register(counter)
    for kind in ("new", "old", "new"):
        counter.labels(kind).inc()
        peer.labels(kind).inc()
    assert _list_samples(registry) == _list_samples(its)


def _list_samples(registry: CollectorRegistry) -> set[str]:
    """All that is told but when each was first seen."""
    lines = generate_latest(registry).decode().splitlines()
    return {line.partition(" ")[0] if "_created{" in line else line for line in lines}


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
