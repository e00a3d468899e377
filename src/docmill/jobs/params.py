import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from pydantic import WithJsonSchema

from docmill.core.jobs import Status
from docmill.core.texts import clean_text
from docmill.jobs.queries import JobFilter
from docmill.web.params import Cursor, bad_param, parse_instant, read_cursor, words_schema

LONGEST_TEXT: Final = 200


_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


StatusText = Annotated[str, WithJsonSchema(words_schema(Status))]
PipelineText = Annotated[
    str, WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9_.-]{0,64}$"})
]


def parse_statuses(texts: list[str]) -> tuple[Status, ...] | None:
    """`status=queued,failed` and `status=queued&status=failed` mean the same."""
    words = [word.strip(" ") for text in texts for word in text.split(",") if word.strip(" ")]
    try:
        return tuple(Status(word) for word in words) or None
    except ValueError as exc:
        raise bad_param("status", f"one of {', '.join(Status)}") from exc


@dataclass(frozen=True, slots=True)
class JobListing:
    """A list of recent jobs from a place on, or of changes since a time."""

    only: JobFilter
    since: datetime | None
    after: Cursor | None


def parse_filter(status: list[str], pipeline: str | None, text: str | None) -> JobFilter:
    """The jobs asked for; an empty field of a form asks for nothing special."""
    if pipeline and not _NAME.fullmatch(pipeline):
        raise bad_param("pipeline", "not the name of a pipeline")
    words = clean_text(text or "").strip()[:LONGEST_TEXT]
    return JobFilter(parse_statuses(status), pipeline or None, words or None)


def parse_listing(only: JobFilter, since: str | None, cursor: str | None) -> JobListing:
    if cursor:
        place = read_cursor(cursor)
        if isinstance(place, Cursor):
            return JobListing(only, None, place)
        return JobListing(only, place, None)
    return JobListing(only, parse_instant(since, at="since") if since else None, None)
