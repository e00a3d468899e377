"""A real application on a real socket: `async with running(pool, folder) as site`."""

import asyncio
import gzip
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, LiteralString

import httpx2

from docmill.app import App, create_web
from docmill.cache import Cache, MemoryCache
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import Broke, Claimed, Ending, Finished, Retry, StoredResult, Usage, settle
from docmill.core.plugins import DOCX, PDF, TEXT
from docmill.db.notify import CHANGES, WORK, Notifier
from docmill.db.pool import Connection, Pool
from docmill.documents.accept import Acceptor
from docmill.documents.bucket_monitor import WatchedBuckets
from docmill.documents.previews import PreviewSandbox
from docmill.queue import settle as queue_settle
from docmill.reading.embeddings import Embed, embed_locally
from docmill.storage import open_store
from docmill.storage.contract import Store
from docmill.web import server
from docmill.web.config import WebConfig
from pdfs import make_pdf
from road import claim
from waits import PATIENCE

PDF_FILE = make_pdf([[(72, 72, "hello")]])
OFFER = PipelineCatalog({"extract": (PDF,), "study": (PDF, DOCX, TEXT)}, {"study": ("plain_v1",)})
INVOICES = PipelineCatalog(
    {"extract": (PDF,), "invoice": (PDF,)}, {"invoice": ("pt_simon_invoice_v1", "ubl_invoice_v1")}
)

# Every job shows at least these.
SHOWN_COLUMNS = frozenset(
    {
        "id",
        "owner_session_id",
        "user_id",
        "original_filename",
        "content_type",
        "bytes",
        "sha256",
        "pipeline",
        "mapping",
        "status",
        "priority",
        "progress",
        "stage",
        "upload_location",
        "result_location",
        "error_code",
        "error_message",
        "created_at",
        "updated_at",
        "queued_at",
        "started_at",
        "completed_at",
        "failed_at",
        "leased_by",
        "lease_expires_at",
        "attempt_count",
        "expires_at",
        "download_count",
        "first_downloaded_at",
        "duplicate_of",
        "source",
        "estimated_seconds_left",
    }
)


@dataclass(frozen=True, slots=True)
class Site:
    """A running site as a test sees it."""

    url: str
    port: int
    services: App
    root: Path

    def client(self, **options: Any) -> httpx2.AsyncClient:
        """Each client has its own cookies: another browser."""
        return httpx2.AsyncClient(base_url=self.url, timeout=PATIENCE, trust_env=False, **options)

    def stored(self) -> list[str]:
        """Everything in the store, half-written files included."""
        return [
            path.relative_to(self.root).as_posix()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        ]


Start = Callable[..., AbstractAsyncContextManager[Site]]


@asynccontextmanager
async def running(
    pool: Pool,
    root: Path,
    *,
    listen_url: str | None = None,
    offer: PipelineCatalog = OFFER,
    shared_dedupe: bool = False,
    sandbox: PreviewSandbox | None = None,
    store: Store | None = None,
    watched: WatchedBuckets | None = None,
    embed: Embed = embed_locally,
    cache: Cache | None = None,
    **rules: Any,
) -> AsyncGenerator[Site]:
    store = store or open_store(str(root))
    work, changes = Notifier(pool, WORK), Notifier(pool, CHANGES)
    intake = Acceptor(pool, store, offer, work, changes, timedelta(days=7), shared_dedupe)
    services = App(pool, listen_url, store, offer, work, changes, intake, cache or MemoryCache())
    given: dict[str, Any] = {"uploads_per_minute": 0, "disk_limit": 1.0, **rules}
    given.setdefault("default_pipeline", "extract")
    app = create_web(services, WebConfig(**given), sandbox, embed=embed, watched=watched)
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server.serve(app, "127.0.0.1", 0, ready=port.set_result))
    await asyncio.wait({task, port}, return_when=asyncio.FIRST_COMPLETED)
    try:
        bound = await port
        yield Site(f"http://127.0.0.1:{bound}", bound, services, root)
    finally:
        task.cancel()
        await asyncio.wait({task})
        await work.close()
        await changes.close()


def part(data: bytes = PDF_FILE, name: str = "a.pdf", field: str = "file") -> tuple[str, Any]:
    """One file of a multipart request."""
    return (field, (name, data, "application/pdf"))


def a_pdf(text: str) -> bytes:
    """A PDF unlike others."""
    return make_pdf([[(72, 72, text)]])


async def upload(client: httpx2.AsyncClient, data: bytes = PDF_FILE, **given: Any) -> str:
    """The id of the new job."""
    answer = await client.post("/api/upload", files=[part(data)], **given)
    assert answer.status_code == 200, answer.text
    return answer.json()["jobId"]


async def upload_to(client: httpx2.AsyncClient, pipeline: str, data: bytes) -> str:
    """The id of the new job of this pipeline."""
    form = {"pipeline": pipeline}
    answer = await client.post("/api/upload", data=form, files=[part(data)])
    assert answer.status_code == 200, answer.text
    return answer.json()["jobId"]


async def rows(pool: Pool, table: LiteralString) -> int:
    async with pool.connection() as conn:
        row = await (await conn.execute(f"SELECT count(*) FROM {table}")).fetchone()
    assert row is not None
    return row[0]


async def complete(site: Site, job_id: str, data: bytes = b'{"pages": []}') -> None:
    """Do what a worker does: claim, store the packed result, settle."""
    packed = gzip.compress(data, compresslevel=1, mtime=0)
    async with site.services.pool.connection() as conn:
        (claimed,) = await claim(conn, pipelines=list(site.services.catalog.accepts))
        assert str(claimed.id) == job_id
        key = f"results/{claimed.id}.{claimed.claim}.gz"
        await site.services.store.put(key, packed)
        sha256 = hashlib.sha256(data).hexdigest()
        result = StoredResult(key, "application/json", len(data), len(packed), sha256, "1")
        await settle_as(conn, claimed, Finished(result))
    site.services.changes.ring()


async def fail(site: Site, job_id: str, code: str = "BAD_PDF") -> None:
    async with site.services.pool.connection() as conn:
        (claimed,) = await claim(conn)
        assert str(claimed.id) == job_id
        await settle_as(conn, claimed, Broke(code, "detail /secret/path", "the stack"))
    site.services.changes.ring()


async def settle_as(conn: Connection, claimed: Claimed, ending: Ending) -> None:
    move = settle(claimed, ending, retry=Retry(attempts=1), chance=0)
    usage = Usage(1500, 1200, 1 << 20)
    assert await queue_settle.write_settlements(
        conn, [queue_settle.Settlement(claimed, move, usage)]
    )
