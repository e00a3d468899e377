"""One run of one job: fetch the bytes, let a confined child work on them, store what comes out."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, BinaryIO, Final

import psycopg

from docmill import tracing
from docmill.core import failpoints, installed, plugins
from docmill.core.documents import result_key
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import (
    About,
    Broke,
    Claimed,
    Ending,
    Finished,
    ReportProgress,
    Stopped,
    StoredResult,
    Usage,
)
from docmill.core.plugins import AUTO, BY_PIPELINE, ELSEWHERE, Artifact
from docmill.core.summaries import clean_summary
from docmill.db.pool import OUTAGES, Pool
from docmill.documents import queries
from docmill.documents.stored import ORIGINAL, StoredObject, open_known
from docmill.jobs import results
from docmill.jobs.validation import ArtifactValidators
from docmill.queue import enqueue, rows
from docmill.queue.lanes import Lanes
from docmill.queue.steps import JobMemory
from docmill.queue.worker import Runner
from docmill.sandbox.outcome import RunFailed, RunOutcome, RunReturned, Task
from docmill.sandbox.pool import SandboxPool
from docmill.sandbox.protocol import KEEP, RECALL, SIZE
from docmill.services.breaker import RESTING, read_pause
from docmill.services.broker import Service, ServiceBroker
from docmill.storage.contract import Store

JSON: Final = "application/json"
BUSY: Final = "SERVICE_BUSY"
GONE: Final = frozenset({"EXPIRED", "DAMAGED"})
LEAST_PAUSE: Final = timedelta(seconds=5)  # of a service that does not say how long it wants

# A run elsewhere, by a service; SERVICE_RESTING when the service is left alone for now.
Elsewhere = Callable[[Claimed, BinaryIO, ReportProgress], Awaitable[RunOutcome]]


@dataclass(frozen=True, slots=True)
class RunnerParts:
    """What there is beyond the sandbox.

    `elsewhere` are the pipelines that a service runs; `services` are what runs here may ask.
    `lanes` are told how many pages a run has. `catalog` says which mappings the pipeline knows that
    a document was read as.
    """

    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict[str, Elsewhere])
    services: Mapping[str, Service] = field(default_factory=dict[str, Service])
    validators: ArtifactValidators | None = None
    lanes: Lanes | None = None
    catalog: PipelineCatalog | None = None


@dataclass(frozen=True, slots=True)
class JobHost:
    """Answers what the run of a job asks: of services, and of what an earlier attempt kept."""

    job: Claimed
    broker: ServiceBroker
    memory: JobMemory
    lanes: Lanes | None
    pool: Pool

    @property
    def services(self) -> frozenset[str]:
        return self.broker.services

    @property
    def history(self) -> dict[str, Any]:
        """What the job's history says of this run."""
        facts = {"asked": self.broker.calls, "recalled": self.memory.recalled}
        return {name: fact for name, fact in facts.items() if fact}

    async def answer(self, service: str, request: Any) -> Any:
        if service in {KEEP, RECALL}:
            return await self.memory.answer(service, request)
        if service != SIZE:
            return await self.broker.answer(service, request)
        pages = int(request["pages"])
        if self.lanes:
            self.lanes.note_pages(self.job, pages)
        with suppress(*OUTAGES, psycopg.DataError, psycopg.IntegrityError):  # only for estimates
            async with self.pool.connection() as conn:
                await queries.note_pages(conn, self.job.document_id, pages)
        return None


class JobRunner:
    """The runner of real workers."""

    def __init__(
        self, pool: Pool, store: Store, sandbox: SandboxPool, parts: RunnerParts | None = None
    ) -> None:
        self._pool: Pool = pool
        self._store: Store = store
        self._sandbox: SandboxPool = sandbox
        self._parts: RunnerParts = parts or RunnerParts()

    async def __call__(self, job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        failpoints.hit("run.started")
        if job.duplicate_of and (copied := await self._copy(job)):
            return copied, Usage()
        if job.upload_key is None:
            return Broke("EXPIRED", "the upload was removed before the job ran"), None
        with tracing.span("fetch"):
            opened = await open_known(self._pool, self._store, _original_of(job, job.upload_key))
        try:
            with tracing.span("read", pipeline=job.pipeline):
                ran = await self._run(job, opened.file, note)
        finally:
            opened.file.close()
        if isinstance(ran, RunFailed):
            return _as_ending(ran), ran.usage
        if unknown := ran.rows.keys() - installed.find_rooms().tables.keys():
            return Broke("UNKNOWN", f"no table takes rows named {sorted(unknown)}"), ran.usage
        if self._parts.validators:
            with tracing.span("validate"):
                ran = await self._parts.validators.check(job, ran)
        with tracing.span("store"):
            finished = await self._finish(job, ran)
        if ran.about.refusal:
            return _keep_reading(finished, ran.about.refusal), ran.usage
        return finished, ran.usage

    async def _finish(self, job: Claimed, ran: RunReturned) -> Finished:
        told = ran.about
        data = await self._keep(job, Artifact(ran.data, JSON), "data", ran.version)
        document = ran.artifact and await results.write_result(
            self._store, result_key(job.id, job.claim, "document"), ran.artifact, ran.version,
            mapping=told.written or told.mapping or job.mapping,
        )  # fmt: skip
        if job.pipeline != AUTO:  # nobody else decides what a job is
            told = replace(told, pipeline=None, mapping=None, decision=None)
        return Finished(data, document, ran.rows, told)

    async def _run(self, job: Claimed, file: BinaryIO, note: ReportProgress) -> RunOutcome:
        run = self._parts.elsewhere.get(job.pipeline, self._run_here)
        ran = await run(job, file, note)
        if isinstance(ran, RunReturned) and job.pipeline == AUTO:
            return await self._run_chosen(job, file, note, ran)
        return ran

    async def _run_chosen(
        self, job: Claimed, file: BinaryIO, note: ReportProgress, chose: RunReturned
    ) -> RunOutcome:
        """A run that chose how to read has read it too, unless that is done elsewhere."""
        name = chose.about.pipeline
        if name is None or name not in installed.find_installed() or name == AUTO:
            return RunFailed("UNKNOWN", "no pipeline was chosen that is installed", "", chose.usage)
        known = self._parts.catalog.mappings.get(name, ()) if self._parts.catalog else ()
        mapping = job.mapping if job.mapping in known else next(iter(known), None)
        ran: RunOutcome = chose
        if elsewhere := self._parts.elsewhere.get(name):
            file.seek(0)
            ran = await elsewhere(replace(job, pipeline=name, mapping=mapping), file, note)
        if isinstance(ran, RunFailed):
            return ran
        chosen = replace(ran.about, pipeline=name, mapping=mapping, decision=chose.about.decision)
        return replace(ran, about=chosen)

    async def _run_here(self, job: Claimed, file: BinaryIO, note: ReportProgress) -> RunOutcome:
        task = replace(_make_task(job), options=await self._all_options(job))
        broker = ServiceBroker(self._pool, self._parts.services, job, file.fileno())
        host = JobHost(job, broker, JobMemory(self._pool, job), self._parts.lanes, self._pool)
        ran = await self._sandbox.run(task, file.fileno(), note, host=host)
        if host.history:
            call = {**ran.usage.call, **host.history}
            ran = replace(ran, usage=replace(ran.usage, call=call))
        return _apply_service_fault(ran, broker) if isinstance(ran, RunFailed) else ran

    async def _all_options(self, job: Claimed) -> dict[str, Any]:
        """What the job says and what its rooms say; of a run that will choose, by pipeline."""
        if job.pipeline != AUTO:
            return {**job.options, **await self._room_options(job)}
        told: dict[str, Any] = dict(job.options.get(BY_PIPELINE, {}))
        for name in {room.pipeline for room in installed.find_rooms().rooms.values()}:
            asked = await self._room_options(replace(job, pipeline=name))
            told[name] = {**told.get(name, {}), **asked}
        return {**job.options, BY_PIPELINE: told, ELSEWHERE: sorted(self._parts.elsewhere)}

    async def _room_options(self, job: Claimed) -> dict[str, Any]:
        """What the rooms of its pipeline tell a run, which has no database to ask."""
        rooms = installed.find_rooms().of(job.pipeline)
        asked = [room.run_options for room in rooms if room.run_options]
        if not asked:
            return {}
        async with self._pool.connection() as conn:
            found = [await plugins.resolve(reference)(conn, job) for reference in asked]
        return {name: value for options in found for name, value in options.items()}

    async def _keep(self, job: Claimed, made: Artifact, form: str, version: str) -> StoredResult:
        key = result_key(job.id, job.claim, form)
        return await results.write_result(self._store, key, made, version)

    async def _copy(self, job: Claimed) -> Finished | None:
        """Take over the results of a job over the same content, where results are shared.

        Rows are not copied: what wrote some is run again.
        """
        assert job.duplicate_of is not None
        async with self._pool.connection() as conn:
            if await rows.rows_exist(conn, job.duplicate_of):
                return None
        data = await self._copy_form(job, "data")
        if data is None:
            return None
        async with self._pool.connection() as conn:
            summary = await results.read_summary(conn, job.duplicate_of)
        document = await self._copy_form(job, "document")
        return Finished(data, document, about=About(clean_summary(summary)))

    async def _copy_form(self, job: Claimed, form: str) -> StoredResult | None:
        assert job.duplicate_of is not None
        async with self._pool.connection() as conn:
            # As it was read: what its owner made of it since is the owner's own.
            known = await results.find_result(conn, job.duplicate_of, form, original=True)
        if known is None:
            return None
        try:
            content = await results.read_result(self._pool, self._store, known.key)
        except DocmillError as exc:
            if exc.fault.code in GONE:
                return None
            raise
        return await self._keep(job, Artifact(content, known.content_type), form, known.version)


def _original_of(job: Claimed, key: str) -> StoredObject:
    return StoredObject(ORIGINAL, key, job.bytes, job.sha256, None, job.document_id, job.id)


def add_options(runner: Runner, options: Mapping[str, Mapping[str, Any]]) -> Runner:
    """A runner whose jobs are told what the operator has set for their pipeline as well."""

    async def run(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        own = {BY_PIPELINE: options} if job.pipeline == AUTO else options.get(job.pipeline, {})
        told = {**own, **job.options}
        return await runner(replace(job, options=told), note)

    return run


def add_tracing(runner: Runner, pool: Pool) -> Runner:
    """A runner whose runs are spans, of the trace that the job's upload was part of."""

    async def run(job: Claimed, note: ReportProgress) -> tuple[Ending, Usage | None]:
        if not tracing.is_on():
            return await runner(job, note)
        parent = None
        with suppress(*OUTAGES):  # it is a trace of its own, then
            async with pool.connection() as conn:
                parent = await enqueue.find_trace(conn, job.id)
        facts = {"job": str(job.id), "pipeline": job.pipeline, "claim": job.claim}
        with tracing.span(
            "attempt", "consumer", parent=parent, **facts, attempt=job.attempt_count
        ) as span:
            ending, usage = await runner(job, note)
            code = ending.code if isinstance(ending, Broke) else None
            span.say(outcome=type(ending).__name__.lower(), code=code)
        return ending, usage

    return run


def _apply_service_fault(ran: RunFailed, broker: ServiceBroker) -> RunFailed:
    """Only a fault that the broker knows of sends a run back to wait: a child's word is not enough.

    A run that was answered before it was told to slow down has come nearer to its end, and is
    spared: else the limits of a service would fail every long document.
    """
    fault = broker.fault
    if fault is not None and fault.fault.code == ran.code:
        spared = ran.code == BUSY and broker.gained > 0
        return replace(ran, delay=read_pause(fault), spared=spared)
    return replace(ran, code="UNKNOWN") if ran.code == RESTING else ran


def _as_ending(ran: RunFailed) -> Ending:
    if ran.code == RESTING:
        return Stopped(ran.delay)
    if ran.spared:
        wait = LEAST_PAUSE if ran.delay is None else ran.delay
        return Stopped(wait, ran.code, ran.detail)
    return Broke(
        ran.code, ran.detail, ran.stack, ran.delay, says=ran.says, once=ran.stalled,
        reason=ran.reason,
    )  # fmt: skip


def _keep_reading(finished: Finished, refusal: str) -> Broke:
    """No document could be made of it; what was read stays."""
    return Broke("GW_4XX", refusal, reason=refusal, reading=finished)


def _make_task(job: Claimed) -> Task:
    return Task(
        pipeline=job.pipeline,
        filename=job.original_filename,
        content_type=job.content_type,
        sha256=job.sha256,
        mapping=job.mapping,
        options=job.options,
        rows=True,
        keeps=True,
    )
