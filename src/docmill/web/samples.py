"""Approved reviews as training samples: one JSON object a line, streamed as they are read."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any, Final

from docmill.core.faults import Faulted
from docmill.core.owners import Owner
from docmill.db import review_lists, reviews
from docmill.db.lists import Place
from docmill.db.pool import reading
from docmill.db.review_lists import Sample
from docmill.db.reviews import Revision
from docmill.storage import Store
from docmill.web.shapes import iso
from docmill.wiring import Services

BATCH: Final = 50


async def lines(services: Services, owner: Owner) -> AsyncIterator[bytes]:
    """However many there are, a few are in memory at a time, and no transaction stays open."""
    after: Place | None = None
    while True:
        async with reading(services.pool) as conn:
            found = await review_lists.samples(conn, owner.key, after=after, limit=BATCH)
            steps = [await reviews.revisions(conn, each.job_id) for each in found]
        for sample, history in zip(found, steps, strict=True):
            try:
                yield await _line(services.store, sample, history)
            except Faulted as exc:
                if exc.fault.code != "EXPIRED":  # retention took it since we looked
                    raise
        if len(found) < BATCH:
            return
        after = Place(found[-1].created_at, found[-1].job_id)


async def _line(store: Store, sample: Sample, history: list[Revision]) -> bytes:
    edits = [
        {"path": each.path, "before": each.before, "after": each.after, "place": each.place,
         "by": each.made_by, "at": iso(each.made_at)}
        for each in history
        if each.kind == "edit" and each.revision < sample.revision
    ]  # fmt: skip
    told: dict[str, Any] = {
        "job_id": str(sample.job_id),
        "filename": sample.filename,
        "sha256": sample.sha256,
        "pipeline": sample.pipeline,
        "mapping": sample.mapping,
        "revision": sample.revision,
        "approved_by": sample.decided_by,
        "approved_at": iso(sample.decided_at),
        "edits": edits,
        "read": await _data(store, sample.read_key),
        "approved": await _data(store, sample.approved_key),
    }
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"


async def _data(store: Store, key: str) -> Any:
    packed = b"".join([chunk async for chunk in store.chunks(key)])
    return await asyncio.to_thread(lambda: json.loads(gzip.decompress(packed)))
