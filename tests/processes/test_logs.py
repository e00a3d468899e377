"""The lines of a log that programs read."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from docmill.processes.logs import FOR_PEOPLE, render_line


def write_line(level: str, **event: Any) -> dict[str, Any]:
    return json.loads(render_line(None, level, event))


def test_a_line_says_what_the_steps_for_people_say() -> None:
    with structlog.contextvars.bound_contextvars(request="r", owner="bound"):
        event: dict[str, Any] = {"event": "job.settled", "owner": "told", "job": None, "n": 1}
        line = write_line("info", **event)
        steps: Any = FOR_PEOPLE[:-1]
        for step in steps:
            event = step(None, "info", event)
    assert line.keys() == event.keys()
    assert {**line, "timestamp": ""} == {**event, "timestamp": ""}
    assert (line["owner"], line["request"]) == ("told", "r")


def test_a_line_has_its_time_in_utc() -> None:
    stamp = write_line("warn", event="e")["timestamp"]
    assert stamp.endswith("Z")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(stamp)) < timedelta(minutes=1)


def test_a_line_tells_an_exception_and_what_json_does_not_know() -> None:
    try:
        raise ValueError("odd")
    except ValueError as exc:
        line = write_line("exception", event="e", exc_info=exc, at=timedelta(1))
    assert (line["level"], line["at"]) == ("error", repr(timedelta(1)))
    assert "ValueError: odd" in line["exception"]
    assert "exc_info" not in line
