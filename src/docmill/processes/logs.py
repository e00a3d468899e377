"""The log of a process: one line per event on stderr."""

import logging
import sys
from typing import Any, Final

import structlog
from structlog.contextvars import get_contextvars
from structlog.processors import add_log_level, format_exc_info
from structlog.typing import EventDict

from docmill import tracing
from docmill.core import log_lines
from docmill.settings import Settings


def log_to_stderr(settings: Settings) -> None:
    """JSON lines, or readable ones when a person is watching. Traces begin here as well."""
    pretty = sys.stderr.isatty() and not settings.production
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.basicConfig(level=max(level, logging.WARNING), format="%(message)s")
    # It tells of every attempt; those who wait say so once.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    structlog.configure(
        processors=FOR_PEOPLE if pretty else [render_line],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    if not pretty and level <= logging.INFO:
        log_lines.SINK.open(sys.stderr)
    tracing.start()


def render_line(logger: Any, level: str, event: EventDict) -> str:
    """All that the steps for people do but the last, in one: every request has its line."""
    line: EventDict = {**get_contextvars(), **event}
    if "exc_info" in line:
        line = format_exc_info(logger, level, line)
    add_log_level(logger, level, line)
    line["timestamp"] = log_lines.tell_time()
    return log_lines.encode_line(line)


def _drop_nulls(_: Any, __: str, event: EventDict) -> EventDict:
    return {key: value for key, value in event.items() if value is not None}


FOR_PEOPLE: Final = [
    structlog.contextvars.merge_contextvars,
    add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    format_exc_info,
    _drop_nulls,
    structlog.dev.ConsoleRenderer(),
]
