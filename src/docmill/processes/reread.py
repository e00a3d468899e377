"""Stored documents read again by the pipelines that are installed now; nothing is kept of it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from docmill import app
from docmill.core.faults import FAULTS, DocmillError
from docmill.db.pool import open_pool
from docmill.documents.places import PlacedStore
from docmill.processes import database
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, Task
from docmill.sandbox.pool import SandboxPool
from docmill.settings import read_settings
from docmill.storage.checked import Expected, open_checked
from docmill.storage.contract import Store

# The data of a document, or None and why there is none.
Reread = tuple[dict[str, Any] | None, str]


async def reread_documents(jobs: Sequence[Mapping[str, Any]]) -> dict[str, Reread]:
    """By job id, of jobs as the API shows them. The files come out of the store that the settings
    name, past the server.
    """
    settings = read_settings()
    own = app.open_stores(settings)
    url = settings.database_url.get_secret_value() if settings.database_url else None
    url = url or database.find_running(settings.data)
    async with AsyncExitStack() as stack:
        store: Store = own
        if url:  # it knows where the PDFs lie that came by a bucket
            pool = await stack.enter_async_context(open_pool(url, size=2))
            store = PlacedStore(own, pool, app.list_addresses(settings))
        return await _reread_all(jobs, store, app.sandbox_limits(settings))


async def _reread_all(
    jobs: Sequence[Mapping[str, Any]], store: Store, limits: RunLimits
) -> dict[str, Reread]:
    pipelines = sorted({str(job["pipeline"]) for job in jobs})
    async with SandboxPool(limits, pipelines=pipelines) as sandbox:
        return {job["id"]: await _reread(job, store, sandbox) for job in jobs}


async def _reread(job: Mapping[str, Any], store: Store, sandbox: SandboxPool) -> Reread:
    if job["upload_location"] is None:
        return None, FAULTS["EXPIRED"].says
    wanted = Expected(job["upload_location"], job["bytes"], job["sha256"])
    try:
        checked = await open_checked(store, wanted)
    except DocmillError as exc:
        if exc.fault.code == "DAMAGED":
            return None, exc.fault.says
        return None, "its PDF is not in this store; set DOCMILL_STORE or DOCMILL_DATA"
    with checked.file as file:
        task = Task(job["pipeline"], job["original_filename"], job["content_type"], job["sha256"])
        ran = await sandbox.run(task, file.fileno(), _ignore_progress)
    if isinstance(ran, RunFailed):
        return None, f"{ran.message} ({ran.detail})"
    return json.loads(ran.data), ""


def _ignore_progress(_percent: int, _stage: str) -> None:
    """Nobody watches."""
