"""Stored documents read again by the pipelines that are installed now; nothing is kept of it.

The one engine behind `docmill replay`, `docmill compare` and `docmill mapping diff --reread`.
"""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from docmill import app
from docmill.core import installed, plugins
from docmill.core.faults import FAULTS, DocmillError
from docmill.core.jobs import Claimed, DocumentId, Job, JobId, ignore_progress
from docmill.core.owners import OwnerKey
from docmill.db.pool import Pool, open_pool
from docmill.documents.places import PlacedStore
from docmill.processes import database, services
from docmill.queue import enqueue
from docmill.sandbox.outcome import RunFailed, Task
from docmill.sandbox.pool import SandboxPool
from docmill.services.broker import ResumeNote, Service, ServiceRequest
from docmill.settings import Settings, read_settings
from docmill.storage.checked import Expected, open_checked
from docmill.storage.contract import Store

# The data of a document, or None and why there is none.
Reread = tuple[dict[str, Any] | None, str]
NOBODY: Final = OwnerKey("")
NO_DOCUMENT: Final = DocumentId(UUID(int=0))
NO_FILE: Final = "its PDF is not in this store; set DOCMILL_STORE or DOCMILL_DATA"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A document of a job, and where its bytes are."""

    job_id: JobId
    pipeline: str
    filename: str
    content_type: str
    bytes: int
    sha256: str
    key: str | None
    owner: OwnerKey | None = None
    document_id: DocumentId | None = None

    @classmethod
    def of(cls, job: Job) -> "StoredFile":
        return cls(
            job.id, job.pipeline, job.original_filename, job.content_type, job.bytes, job.sha256,
            job.upload_key, job.owner, job.document_id,
        )  # fmt: skip

    @classmethod
    def from_api(cls, job: Mapping[str, Any]) -> "StoredFile":
        """A job as the API shows it."""
        return cls(
            JobId(UUID(job["id"])), job["pipeline"], job["original_filename"],
            job["content_type"], job["bytes"], job["sha256"], job["upload_location"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ServiceHost:
    """Services for a run that is no job's: their answers are kept nowhere."""

    asked: Mapping[str, Service]
    job: Claimed
    document: int

    @property
    def services(self) -> frozenset[str]:
        return frozenset(self.asked)

    async def answer(self, service: str, request: Any) -> Any:
        if service not in self.asked:
            raise DocmillError("SERVICE_UNSET", f"no service {service}")
        one, note = self.asked[service], ResumeNote(_recall_nothing, _keep_nothing)
        question = ServiceRequest(request, self.job, self.document, note)
        return await one.guard.through(partial(one.answer, question))


async def _recall_nothing() -> None:
    return None


async def _keep_nothing(_: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class StoredReader:
    """Reads stored documents as a worker would now: by the settings, and by its owner's lessons.

    `options` come on top: another reader, say.
    """

    store: Store
    sandbox: SandboxPool
    settings: Settings
    pool: Pool | None = None
    asked: Mapping[str, Service] = field(default_factory=dict[str, Service])

    async def read(self, stored: StoredFile, options: Mapping[str, Any] | None = None) -> Reread:
        if stored.key is None:
            return None, FAULTS["EXPIRED"].says
        try:
            checked = await open_checked(
                self.store, Expected(stored.key, stored.bytes, stored.sha256)
            )
        except DocmillError as exc:
            return None, exc.fault.says if exc.fault.code == "DAMAGED" else NO_FILE
        with checked.file as file:
            job = await self._claim(stored)
            told = {**job.options, **(options or {})}
            task = Task(job.pipeline, job.original_filename, job.content_type, job.sha256,
                        options=told)  # fmt: skip
            host = ServiceHost(self.asked, job, file.fileno()) if self.asked else None
            ran = await self.sandbox.run(task, file.fileno(), ignore_progress, host=host)
        if isinstance(ran, RunFailed):
            return None, f"{ran.message} ({ran.detail})"
        return json.loads(ran.data), ""

    async def _claim(self, stored: StoredFile) -> Claimed:
        """What a worker would hold, with all that the run is told."""
        own = app.pipeline_options(self.settings).get(stored.pipeline, {})
        job = Claimed(
            stored.job_id, stored.document_id or NO_DOCUMENT, stored.owner or NOBODY,
            stored.pipeline, None, own, None, 0, 0, stored.key, stored.filename,
            stored.content_type, stored.bytes, stored.sha256,
        )  # fmt: skip
        if self.pool is None or not stored.owner:
            return job
        rooms = installed.find_rooms().of(stored.pipeline)
        async with self.pool.connection() as conn:
            told = {**own, **await enqueue.read_options(conn, stored.job_id)}
            for room in rooms:
                if room.run_options:
                    told |= await plugins.resolve(room.run_options)(conn, job)
        return replace(job, options=told)


@asynccontextmanager
async def open_reader(
    settings: Settings, url: str | None, pipelines: Sequence[str]
) -> AsyncGenerator[StoredReader]:
    """Without `url` it does not know where the PDFs lie that came by a bucket."""
    async with AsyncExitStack() as stack:
        store: Store = app.open_stores(settings)
        pool = None
        if url:
            pool = await stack.enter_async_context(open_pool(url, size=4))
            store = PlacedStore(store, pool, app.list_addresses(settings))
        asked = await services.open_services(settings, stack)
        limits = app.sandbox_limits(settings)
        sandbox = await stack.enter_async_context(SandboxPool(limits, pipelines=pipelines))
        yield StoredReader(store, sandbox, settings, pool, asked)


async def reread_documents(jobs: Sequence[Mapping[str, Any]]) -> dict[str, Reread]:
    """By job id, of jobs as the API shows them. The files come out of the store that the settings
    name, past the server.
    """
    settings = read_settings()
    url = settings.database_url.get_secret_value() if settings.database_url else None
    url = url or database.find_running(settings.data)
    pipelines = sorted({str(job["pipeline"]) for job in jobs})
    async with open_reader(settings, url, pipelines) as reader:
        return {job["id"]: await reader.read(StoredFile.from_api(job)) for job in jobs}
