"""Answers of outside services, kept while their job is under way so that none is paid for twice."""

import hashlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog

from docmill import tracing
from docmill.core import failpoints
from docmill.core.faults import DocmillError
from docmill.core.jobs import Claimed, JobId
from docmill.db.pool import OUTAGES, Connection, Pool
from docmill.services.breaker import ServiceGuard
from docmill.services.model_calls import CallOutcome, ModelTerms, record_call
from docmill.services.pace import ServicePace

READ_ANSWER: Final = "SELECT answer FROM answers WHERE job_id = %s AND question = %s"


async def read_answer(conn: Connection, job_id: JobId, question: bytes) -> bytes | None:
    """`question` is the SHA-256 of the service and what it was asked."""
    row = await (await conn.execute(READ_ANSWER, (job_id, question))).fetchone()
    return row[0] if row else None


SAVE_ANSWER: Final = """
INSERT INTO answers (job_id, question, answer) VALUES (%s, %s, %s)
    ON CONFLICT (job_id, question) DO UPDATE SET answer = excluded.answer, kept_at = now()
"""


async def save_answer(conn: Connection, job_id: JobId, question: bytes, answer: bytes) -> None:
    await conn.execute(SAVE_ANSWER, (job_id, question, answer))


DELETE_ANSWERS: Final = """
DELETE FROM answers USING jobs
 WHERE jobs.id = answers.job_id AND jobs.status IN ('complete', 'failed', 'cancelled')
"""


async def delete_answers(conn: Connection) -> int:
    """Those of jobs that ended in another way than by settling."""
    return (await conn.execute(DELETE_ANSWERS)).rowcount


log = structlog.get_logger()

# Calls of one run that are told of; a run may make thousands.
MOST_TIMED: Final = 100


@dataclass(frozen=True, slots=True)
class ResumeNote:
    """What a service says before it answers, such as the name of an operation under way.

    It is kept like an answer, so that another attempt can go on where this one was.
    """

    read: Callable[[], Awaitable[Any]]
    write: Callable[[Any], Awaitable[object]]


PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """`document` is an open file that the run reads as well: read it with `os.pread` alone."""

    request: Any
    job: Claimed
    document: int
    note: ResumeNote

    def read_document(self) -> bytes:
        """The whole of it; the run's own place in the file stays where it is."""
        pieces: list[bytes] = []
        place = 0
        while piece := os.pread(self.document, PIECE, place):
            pieces.append(piece)
            place += len(piece)
        return b"".join(pieces)


# JSON in, JSON out. Raises DocmillError, with `retryAfter` seconds where the service asked for it.
ServiceCall = Callable[[ServiceRequest], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Service:
    """`terms`: it is a model, and what it is asked is written down."""

    guard: ServiceGuard
    answer: ServiceCall
    terms: ModelTerms | None = None
    pace: ServicePace | None = None


class ServiceBroker:
    """Answers one run's questions, from what an earlier run was told or from the service."""

    def __init__(
        self, pool: Pool, services: Mapping[str, Service], job: Claimed, document: int
    ) -> None:
        self.services: frozenset[str] = frozenset(services)
        self.fault: DocmillError | None = None
        self.gained: int = 0  # answers that the next run will not ask for again
        self.calls: list[dict[str, Any]] = []  # which service was asked, and how long it took
        self._pool: Pool = pool
        self._services: Mapping[str, Service] = services
        self._job: Claimed = job
        self._document: int = document
        # Answers are given in tasks of the channel: the step around is remembered.
        self._trace: str | None = tracing.write_headers().get(tracing.HEADER)

    async def answer(self, service: str, request: Any) -> Any:
        try:
            return await self._answer(service, request)
        except DocmillError as exc:
            self.fault = exc
            raise

    async def _answer(self, name: str, request: Any) -> Any:
        if name not in self._services:
            raise DocmillError("SERVICE_UNSET", f"no service {name}")
        asked = _write_canonical(request)
        digest = hashlib.sha256(name.encode() + b"\0" + asked).digest()
        if (kept := await self._recall(digest)) is not None:
            return kept
        service = self._services[name]
        note = hashlib.sha256(digest + b"note").digest()
        notes = ResumeNote(partial(self._recall, note), partial(self._keep, note))
        question = ServiceRequest(json.loads(asked), self._job, self._document, notes)
        async with service.pace.turn() if service.pace else nullcontext():
            answer = await service.guard.through(partial(self._ask_timed, name, question))
        self.gained += await self._keep(digest, answer)
        failpoints.hit("answer.kept")
        return answer

    async def _ask_timed(self, name: str, question: ServiceRequest) -> Any:
        """How long the service took goes down in the job's history, whatever it answered."""
        with tracing.span("service", "client", parent=self._trace, service=name) as span:
            return await self._ask(name, question, span)

    async def _ask(self, name: str, question: ServiceRequest, span: tracing.NoSpan) -> Any:
        began_at = time.monotonic()
        try:
            answer = await self._services[name].answer(question)
        except DocmillError as exc:
            span.say(code=exc.fault.code)
            ended = CallOutcome(_count_ms(began_at), exc.fault.code, exc.detail)
            await self._record(name, question.request, ended)
            raise
        finally:
            if len(self.calls) < MOST_TIMED:
                self.calls.append({"service": name, "ms": _count_ms(began_at)})
        ended = CallOutcome(_count_ms(began_at), answer=answer)
        await self._record(name, question.request, ended)
        return answer

    async def _record(self, name: str, request: Any, ended: CallOutcome) -> None:
        """A row for the people who look at the job; nothing depends on it."""
        terms = self._services[name].terms
        if terms is None:
            return
        try:
            async with self._pool.connection() as conn:
                await record_call(conn, self._job, request, terms, ended=ended)
        except OUTAGES as exc:
            log.warning("model_call.not_kept", job=str(self._job.id), error=type(exc).__name__)

    async def _recall(self, digest: bytes) -> Any:
        try:
            async with self._pool.connection() as conn:
                kept = await read_answer(conn, self._job.id, digest)
            return None if kept is None else json.loads(kept)
        except OUTAGES as exc:
            log.warning("answers.unknown", job=str(self._job.id), error=type(exc).__name__)
            return None

    async def _keep(self, digest: bytes, answer: Any) -> bool:
        """An answer that cannot be kept is used all the same: it is paid for."""
        try:
            async with self._pool.connection() as conn:
                await save_answer(conn, self._job.id, digest, json.dumps(answer).encode())
        except OUTAGES as exc:
            log.warning("answers.not_kept", job=str(self._job.id), error=type(exc).__name__)
            return False
        return True


def _count_ms(began_at: float) -> int:
    return round((time.monotonic() - began_at) * 1000)


def _write_canonical(request: Any) -> bytes:
    """One spelling of each request, in text that can be sent anywhere."""
    try:
        text = json.dumps(request, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (ValueError, RecursionError) as exc:
        raise DocmillError("SERVICE_REFUSED", "the request can't be written as JSON") from exc
    return text.encode("utf-8", "replace")
