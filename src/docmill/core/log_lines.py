"""Lines of the log as programs read them, and the way out for lines that are written very often."""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quote
from typing import Any, Final, TextIO

# One for all values: `json.dumps` would make another for each.
ENCODER: Final = json.JSONEncoder(default=repr)


def encode_line(fields: Mapping[str, Any]) -> str:
    """As `json.dumps` would, without what is None; JSON's own encoder is made anew for each line,
    which takes longer than all that a line tells.
    """
    told = [
        f"{quote(name)}: {quote(value) if type(value) is str else _encode(value)}"
        for name, value in fields.items()
        if value is not None
    ]
    return f"{{{', '.join(told)}}}"


def _encode(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float() if math.isfinite(value):
            return repr(float(value))
        case _:
            return ENCODER.encode(value)


def tell_time() -> str:
    """Now, in UTC, to the microsecond."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{_tell_second(seconds)}.{nanoseconds // 1000:06d}Z"


@lru_cache(maxsize=2)
def _tell_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@dataclass(slots=True)
class LogSink:
    """Where lines go that need none of structlog's steps; nowhere until a process opens it."""

    write: Callable[[str], object] | None = None

    def open(self, stream: TextIO) -> None:
        def write(line: str) -> None:
            stream.write(line + "\n")
            stream.flush()

        self.write = write


# Of the process, as structlog's configuration is.
SINK: Final = LogSink()


def write_fact(event: str, fields: Mapping[str, Any]) -> bool:
    """Write a line of level info; False where structlog has to, say because people read it."""
    if SINK.write is None:
        return False
    line = {**fields, "event": event, "level": "info", "timestamp": tell_time()}
    SINK.write(encode_line(line))
    return True
