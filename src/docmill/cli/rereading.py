"""Stored invoices read once more by the pipeline that is installed now; nothing is kept of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.cli import rules
from docmill.core.faults import FAULTS, Faulted
from docmill.core.pipeline import PDF
from docmill.settings import Settings
from docmill.storage import Store, open_store
from docmill.work.child import Failed, Nursery, Task

PIPELINE: Final = "invoice"


@dataclass(frozen=True, slots=True)
class Reread:
    """What a job's PDF says today; without data the reason why that can't be told."""

    data: dict[str, Any] | None
    reason: str = ""


async def reread(settings: Settings, jobs: Sequence[Mapping[str, Any]]) -> dict[str, Reread]:
    """By job id. The files come out of the store as the settings name it, past the server."""
    store = open_store(settings.store or str(settings.data / "store"))
    async with Nursery(rules.limits(settings), pipelines=[PIPELINE]) as nursery:
        return {job["id"]: await _one(job, store, nursery) for job in jobs}


async def _one(job: Mapping[str, Any], store: Store, nursery: Nursery) -> Reread:
    if job["upload_location"] is None:
        return Reread(None, FAULTS["EXPIRED"].says)
    try:
        file = await store.file(job["upload_location"])
    except Faulted:
        return Reread(None, "its PDF is not in this store; set DOCMILL_STORE or DOCMILL_DATA")
    with file:
        task = Task(PIPELINE, "invoice.pdf", PDF, job["sha256"])
        ran = await nursery.run(task, file.fileno(), _silent)
    if isinstance(ran, Failed):
        return Reread(None, f"{FAULTS[ran.code].says} ({ran.detail})")
    return Reread(json.loads(ran.data))


def _silent(_percent: int, _stage: str) -> None:
    """Nobody watches."""
