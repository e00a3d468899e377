"""Stored documents read again by the pipelines that are installed now; nothing is kept of it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from docmill import app
from docmill.core.faults import FAULTS, DocmillError
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
    store = app.open_stores(settings)
    pipelines = sorted({str(job["pipeline"]) for job in jobs})
    async with SandboxPool(app.sandbox_limits(settings), pipelines=pipelines) as sandbox:
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
