"""What runs may ask: named services outside, each behind its guard, and answers kept per job."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog

from docmill.core import failpoints
from docmill.core.faults import Faulted
from docmill.core.jobs import Claimed
from docmill.db import answers
from docmill.db.pool import OUTAGES, Pool
from docmill.work.framing import KEEP, RECALL
from docmill.work.guard import Guard
from docmill.work.memory import JobMemory

log = structlog.get_logger()

# Calls of one run that are told of; a run may make thousands.
MOST_TIMED: Final = 100


@dataclass(frozen=True, slots=True)
class Note:
    """What a service says before it answers, such as the name of an operation under way.

    It is kept like an answer, so that another attempt can go on where this one was.
    """

    read: Callable[[], Awaitable[Any]]
    write: Callable[[Any], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Question:
    """`document` is an open file that the run reads as well: read it with `os.pread` alone."""

    request: Any
    job: Claimed
    document: int
    note: Note


# JSON in, JSON out; raises Faulted, with `retryAfter` seconds where the service asked for a pause.
Answer = Callable[[Question], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Service:
    guard: Guard
    answer: Answer


class JobDesk:
    """Answers one run's questions, from what an earlier run was told or from the service."""

    def __init__(
        self, pool: Pool, services: Mapping[str, Service], job: Claimed, document: int
    ) -> None:
        self.services: frozenset[str] = frozenset(services)
        self.told: Faulted | None = None
        self.gained: int = 0  # answers that the next run will not ask for again
        self._asked: list[dict[str, Any]] = []
        self._memory: JobMemory = JobMemory(pool, job)
        self._pool: Pool = pool
        self._services: Mapping[str, Service] = services
        self._job: Claimed = job
        self._document: int = document

    @property
    def history(self) -> dict[str, Any]:
        """What is to be told of this run: the services it asked, and what it had from before."""
        told = {"asked": self._asked, "recalled": self._memory.recalled}
        return {name: fact for name, fact in told.items() if fact}

    async def answer(self, service: str, request: Any) -> Any:
        if service in {KEEP, RECALL}:
            return await self._memory.answer(service, request)
        try:
            return await self._answer(service, request)
        except Faulted as exc:
            self.told = exc
            raise

    async def _answer(self, name: str, request: Any) -> Any:
        if name not in self._services:
            raise Faulted("SERVICE_UNSET", f"no service {name}")
        asked = _canonical(request)
        digest = hashlib.sha256(name.encode() + b"\0" + asked).digest()
        if (kept := await self._kept(digest)) is not None:
            return kept
        service = self._services[name]
        note = hashlib.sha256(digest + b"note").digest()
        notes = Note(partial(self._kept, note), partial(self._keep, note))
        question = Question(json.loads(asked), self._job, self._document, notes)
        answer = await service.guard.through(partial(self._timed, name, question))
        self.gained += await self._keep(digest, answer)
        failpoints.hit("answer.kept")
        return answer

    async def _timed(self, name: str, question: Question) -> Any:
        """How long the service took goes down in the job's history, whatever it answered."""
        began_at = time.monotonic()
        try:
            return await self._services[name].answer(question)
        finally:
            if len(self._asked) < MOST_TIMED:
                took = round((time.monotonic() - began_at) * 1000)
                self._asked.append({"service": name, "ms": took})

    async def _kept(self, digest: bytes) -> Any:
        try:
            async with self._pool.connection() as conn:
                kept = await answers.of_job(conn, self._job.id, digest)
            return None if kept is None else json.loads(kept)
        except OUTAGES as exc:
            log.warning("answers.unknown", job=str(self._job.id), error=type(exc).__name__)
            return None

    async def _keep(self, digest: bytes, answer: Any) -> bool:
        """An answer that cannot be kept is used all the same: it is paid for."""
        try:
            async with self._pool.connection() as conn:
                await answers.keep(conn, self._job.id, digest, json.dumps(answer).encode())
        except OUTAGES as exc:
            log.warning("answers.not_kept", job=str(self._job.id), error=type(exc).__name__)
            return False
        return True


def _canonical(request: Any) -> bytes:
    """One spelling of each request, in text that can be sent anywhere."""
    try:
        text = json.dumps(request, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (ValueError, RecursionError) as exc:
        raise Faulted("SERVICE_REFUSED", "the request can't be written as JSON") from exc
    return text.encode("utf-8", "replace")
