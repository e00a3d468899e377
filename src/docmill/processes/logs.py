"""The log of a process: one line per event on stderr."""

import json
import logging
import sys
from typing import Any, Final

import structlog
from structlog.typing import EventDict

from docmill import tracing
from docmill.settings import Settings

# One for all lines: `json.dumps` would make another for each.
ENCODER: Final = json.JSONEncoder(default=repr)


def log_to_stderr(settings: Settings) -> None:
    """JSON lines, or readable ones when a person is watching. Traces begin here as well."""
    pretty = sys.stderr.isatty() and not settings.production
    renderer = structlog.dev.ConsoleRenderer() if pretty else _render_json
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.basicConfig(level=max(level, logging.WARNING), format="%(message)s")
    # It tells of every attempt; those who wait say so once.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _drop_nulls,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    tracing.start()


def _render_json(_: Any, __: str, event: EventDict) -> str:
    return ENCODER.encode(event)


def _drop_nulls(_: Any, __: str, event: EventDict) -> EventDict:
    return {key: value for key, value in event.items() if value is not None}
