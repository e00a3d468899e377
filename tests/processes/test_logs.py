"""The lines of a log that programs read."""

import io
import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog

from docmill.core import log_lines
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


def test_a_line_that_needs_no_steps_says_what_one_with_them_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = {"request": "r", "owner": 'a"\u00e9', "status": 200, "ms": 1.5, "by": True, "job": None}
    assert not log_lines.write_fact("request.answered", facts), "nobody opened the sink"
    stream = io.StringIO()
    monkeypatch.setattr(log_lines, "SINK", log_lines.LogSink())
    log_lines.SINK.open(stream)
    assert log_lines.write_fact("request.answered", facts)
    line = json.loads(stream.getvalue())
    assert stream.getvalue() == json.dumps(line) + "\n"
    expected = write_line("info", **facts, event="request.answered")
    assert {**line, "timestamp": ""} == {**expected, "timestamp": ""}


def test_odd_numbers_are_written_as_json_writes_them() -> None:
    odd = {"nan": math.nan, "no": -math.inf, "yes": True, "list": [1, None], "big": 10**20}
    assert log_lines.encode_line(odd) == json.dumps(odd)
