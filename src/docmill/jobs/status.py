"""The status that programs poll, with the result when there is one.

While the database can be asked it always is, in one small statement for all who ask at the same
time. The answer about a job that has ended is kept: it is given again while the job is as it was
then, and when the database can't be asked.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, cast
from uuid import UUID

import psycopg
from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from docmill.core.faults import FAULTS, DocmillError
from docmill.core.jobs import ENDED, Job, JobId, Status
from docmill.core.owners import Owner
from docmill.db import wall
from docmill.db.pool import Pool, read_connection
from docmill.db.wall import View
from docmill.documents.stored import open_stored
from docmill.jobs import queries, results
from docmill.jobs.kept import KeptAnswer, KeptStatuses
from docmill.jobs.queries import StatusFacts
from docmill.jobs.results import StoredResult
from docmill.queue.enqueue import find_own_job
from docmill.storage.checked import CheckedObject
from docmill.web import problems
from docmill.web.params import check_texts
from docmill.web.responses import EncodedJson
from docmill.web.site import CurrentOwner, CurrentSite, Site, identify_owner

MOST_KEPT: Final = 4096

# Those who wait for one row each, by its job.
Waiting = dict[JobId, list[asyncio.Future[StatusFacts | None]]]


class StatusReader:
    """Reads jobs for whoever asks: those who come while a statement is under way share the next.

    So each is answered with what is true after the question came, as if it had been asked alone.
    Only those who see the same rows are asked for together.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool: Pool = pool
        self._next: dict[View, Waiting] = {}
        self._asking: dict[View, asyncio.Task[None]] = {}

    async def find(self, job_id: str) -> StatusFacts | None:
        """None for a job that is not there or hidden from who asks."""
        wanted = parse_job_id(job_id)
        if wanted is None:
            return None
        view = wall.view_now()
        waiting = self._next.get(view)
        if waiting is None:
            waiting = self._next[view] = {}
            if view not in self._asking:
                self._asking[view] = asyncio.create_task(self._ask_all(view))
        answer: asyncio.Future[StatusFacts | None] = asyncio.get_running_loop().create_future()
        waiting.setdefault(wanted, []).append(answer)
        return await answer

    async def _ask_all(self, view: View) -> None:
        """One statement after the other, for as long as somebody waits."""
        try:
            while view in self._next:
                await self._ask(view)
        finally:
            del self._asking[view]
            _give_up(self._next.pop(view, {}), asyncio.CancelledError())

    async def _ask(self, view: View) -> None:
        """Who comes when the connection is there and the statement leaves is for the next one."""
        waiting: Waiting = {}
        try:
            async with self._pool.absence.refused(), read_connection(self._pool) as conn:
                waiting = self._next.pop(view)
                rows = await queries.read_statuses(conn, waiting)
        except (DocmillError, psycopg.Error) as exc:
            _give_up(waiting or self._next.pop(view), exc)
            return
        except BaseException as exc:
            _give_up(waiting or self._next.pop(view), exc)
            raise
        for job_id, answers in waiting.items():
            row = rows.get(job_id)
            for answer in answers:
                if not answer.done():
                    answer.set_result(row)


def _give_up(waiting: Waiting, exc: BaseException) -> None:
    """Whoever still waits is told why there is no answer."""
    for answer in (one for answers in waiting.values() for one in answers):
        if answer.done():
            continue
        if isinstance(exc, asyncio.CancelledError):
            answer.cancel()
        else:
            answer.set_exception(exc)


@lru_cache(maxsize=MOST_KEPT)
def parse_job_id(text: str) -> JobId | None:
    """The same ids are asked for again and again."""
    try:
        return JobId(UUID(text))
    except ValueError:
        return None


class StatusRoute(APIRoute):
    """Asked more often than any other: what its endpoint takes is found here, not by FastAPI.

    The endpoint's signature still says what the description of the API tells.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in self.methods:
            await super().handle(scope, receive, send)
            return
        request, job_id = Request(scope, receive), scope["path_params"]["job_id"]
        if scope["query_string"] or parse_job_id(job_id) is None:
            await check_texts(request)  # as with every route of the application
        site, owner = scope["app"].state.site, await identify_owner(request)
        response = await self.endpoint(job_id, site, owner)
        await response(scope, receive, send)


router = APIRouter(prefix="/api", tags=["results"], route_class=StatusRoute)

# A status up to here goes out in one piece: the last of three small ones would wait for the
# client's delayed acknowledgement of the first.
ONE_BUFFER: Final = 1 << 20


class StatusAnswer(BaseModel):
    """For programs that poll. Times are milliseconds since 1970, spans milliseconds."""

    success: bool
    jobId: str  # noqa: N815  the contract's names
    status: str = Field(examples=[*dict.fromkeys(one.row.api_word for one in Status)])
    progress: int
    queuedAt: int | None  # noqa: N815
    startedAt: int | None  # noqa: N815
    completedAt: int | None = Field(description="When the job ended, well or not")  # noqa: N815
    processingTime: int | None  # noqa: N815
    result: Any = Field(default=None, description="Only when completed")
    error: str | None = Field(default=None, description="Only when failed, with `code`")
    code: str | None = None
    reason: str | None = Field(default=None, description="Why it failed, in a sentence")


@router.get(
    "/job-status/{job_id}",
    summary="A job's status in four words; with its result when completed",
    response_model=StatusAnswer,
    responses=problems.fault_responses(*problems.LOOKUP_FAULTS, "IO_ERROR", "DAMAGED"),
)
async def job_status(job_id: str, site: CurrentSite, owner: CurrentOwner) -> Response:
    """A cancelled job shows as failed with the code CANCELLED."""
    answers = site.find(KeptStatuses)
    try:
        kept = await answers.find(job_id)
        row = await site.find(StatusReader).find(job_id)
        if kept and kept.owner == owner.key:
            if kept.is_of(owner.key, row.updated_at if row else None):
                answers.count(hit=True)
                await answers.confirm(job_id, kept)
                return EncodedJson(kept.body)
            await answers.forget(job_id)
        answers.count(hit=False)
        if row is None or row.owner != owner.key:
            row = await _require_job(site, owner, job_id)
        if row.status in ENDED:
            return await _answer_ended(site, row)
        return EncodedJson(_encode(row))
    except DocmillError as exc:
        return EncodedJson(await answers.bridge(exc, job_id, owner.key))


route: Final = cast(StatusRoute, router.routes[0])


async def _require_job(site: Site, owner: Owner, job_id: str) -> Job:
    """Who has no right to a job is told why; one that has come just now is found after all."""
    async with site.pool.absence.refused(), read_connection(site.pool) as conn:
        return await find_own_job(conn, owner, job_id)


async def _answer_ended(site: Site, job: StatusFacts | Job) -> Response:
    facts = _status_facts(job)
    async with site.pool.absence.refused():
        result = await _find_result(site, job)
        if result is None:
            body = json.dumps(facts | _status_error(job)).encode()
        else:
            stored = await open_stored(site.pool, site.store, result.key)
            pieces = _stream_with_result(facts, stored)
            if result.bytes > ONE_BUFFER:
                return StreamingResponse(pieces, media_type="application/json")
            body = b"".join([piece async for piece in pieces])
    answer = KeptAnswer(job.owner, job.updated_at.isoformat(), body)
    await site.find(KeptStatuses).keep(str(job.id), answer)
    return EncodedJson(body)


async def _find_result(site: Site, job: StatusFacts | Job) -> StoredResult | None:
    if job.result_key is None:
        return None
    async with read_connection(site.pool) as conn:
        return await results.find_result(conn, job.id, "data")


def _encode(row: StatusFacts | Job) -> bytes:
    """The answer about a job that has not ended."""
    return _encode_row(row) if isinstance(row, StatusFacts) else _encode_facts(row)


@lru_cache(maxsize=MOST_KEPT)
def _encode_row(row: StatusFacts) -> bytes:
    """Of a row that is as it was, the answer is as it was."""
    return _encode_facts(row)


def _encode_facts(job: StatusFacts | Job) -> bytes:
    return json.dumps(_status_facts(job)).encode()


def _status_facts(job: StatusFacts | Job) -> dict[str, Any]:
    ended_at = job.completed_at or job.failed_at or job.cancelled_at
    took = ended_at - job.started_at if ended_at and job.started_at else None
    return {
        "success": True,
        "jobId": str(job.id),
        "status": Status(job.status).row.api_word,
        "progress": job.progress,
        "queuedAt": _epoch_ms(job.queued_at),
        "startedAt": _epoch_ms(job.started_at),
        "completedAt": _epoch_ms(ended_at),
        "processingTime": None if took is None else round(took.total_seconds() * 1000),
    }


def _epoch_ms(at: datetime | None) -> int | None:
    return round(at.timestamp() * 1000) if at else None


def _status_error(job: StatusFacts | Job) -> dict[str, Any]:
    if job.status == Status.FAILED:
        return {"error": job.error_message, "code": job.error_code, "reason": job.reason}
    code = {Status.CANCELLED: "CANCELLED", Status.COMPLETE: "EXPIRED"}.get(Status(job.status))
    return {"error": FAULTS[code].says, "code": code} if code else {}


async def _stream_with_result(facts: dict[str, Any], result: CheckedObject) -> AsyncIterator[bytes]:
    """The stored result is JSON already: it goes out between the braces as it is."""
    try:
        yield json.dumps(facts)[:-1].encode() + b', "result": '
        async for piece in result.content():
            yield piece
        yield b"}"
    finally:
        result.close()
