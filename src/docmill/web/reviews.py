"""Review: a result opened with its edits, changed, judged again, and decided on."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from docmill import mappings
from docmill.core.faults import Faulted
from docmill.core.jobs import Job, Status, StoredResult
from docmill.core.keys import reviewed_key
from docmill.core.owners import Owner
from docmill.db import jobs, lessons, owners, results, reviews
from docmill.db.pool import Connection, connection, reading
from docmill.db.reviews import Head, Revision
from docmill.mappings import Change, Profile, checking, profile_of
from docmill.mappings.editing import replay
from docmill.storage import Store
from docmill.web import confined
from docmill.web.deps import Site, own_job
from docmill.web.reasons import reasons

log = structlog.get_logger()

JSON: Final = "application/json"
XML: Final = "application/xml"


@dataclass(frozen=True, slots=True)
class Opened:
    """A review as it stands: what was read, what was done to it, and what it says now."""

    job: Job
    head: Head
    history: list[Revision]
    read: dict[str, Any]
    data: dict[str, Any]
    profile: Profile
    version: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What arithmetic and the mapping say of an invoice. No `xml`: `refusal` says why."""

    checks: dict[str, str]
    review: list[str]
    reasons: dict[str, str]
    notes: list[str]
    xml: bytes | None
    refusal: str | None = None


async def opened(here: Site, owner: Owner, job_id: str) -> Opened:
    """The review of the asker's job, if its result is there and was mapped."""
    async with reading(here.services.pool) as conn:
        job = await own_job(conn, owner, job_id)
        if job.status is not Status.COMPLETE:
            raise Faulted("NOT_READY", jobId=str(job.id), jobStatus=str(job.status))
        if job.mapping is None:
            raise Faulted("NOT_REVIEWABLE", jobId=str(job.id), pipeline=job.pipeline)
        found = await results.of_job(conn, job.id, "data", original=True)
        if found is None:
            raise Faulted("EXPIRED", jobId=str(job.id))
        head = await reviews.head(conn, job.id)
        history = (await reviews.revisions(conn, job.id))[: head.revision]
        told = await owners.profile(conn, owner.key)
    read = await _stored(here.services.store, found.key)
    data = replay(read, changes_of(history))
    profile = profile_of(read.get("profile") or told)
    return Opened(job, head, history, read, data, profile, found.version)


def changes_of(history: Sequence[Revision]) -> list[Change]:
    return [
        Change(each.path, each.before, each.after, each.place)
        for each in history
        if each.path is not None
    ]


async def _stored(store: Store, key: str) -> dict[str, Any]:
    packed = b"".join([chunk async for chunk in store.chunks(key)])
    return await asyncio.to_thread(lambda: json.loads(gzip.decompress(packed)))


async def judged(review: Opened, data: dict[str, Any]) -> Judged:
    """The same arithmetic and the same mapping as a run's, on what a person made of it."""
    found = await asyncio.to_thread(_judged, str(review.job.mapping), data, review.profile)
    if review.head.status == reviews.APPROVED and data is review.data:
        return replace(found, review=[], reasons={})  # a person has looked
    return found


def _judged(mapping: str, data: dict[str, Any], profile: Profile) -> Judged:
    checks = checking.checks_of(data)
    doubts = checking.doubtful(data, checks)
    try:
        made = mappings.emit(mappings.load(mapping), data, profile, pretty=True)
    except Faulted as exc:
        return Judged(checks, doubts, reasons(data, doubts, checks, []), [], None, exc.detail)
    edited = {path for path, seen in data["evidence"].items() if seen.get("edited")}
    told = [path for path in map(mappings.bracketed, made.review) if path not in edited]
    review, notes = list(dict.fromkeys((*doubts, *told))), list(made.notes)
    return Judged(checks, review, reasons(data, review, checks, notes), notes, made.xml)


async def edit(here: Site, owner: Owner, review: Opened, changes: Sequence[Change]) -> None:
    """Keep these changes of what the asker saw, or refuse with what came first."""
    async with connection(here.services.pool) as conn:
        kept = await reviews.edit(
            conn, review.job.id, changes, base=review.head.revision, by=owner.key
        )
        if not kept:
            raise await conflict(conn, review.job, review.head.revision)
    here.services.changes.ring()


async def conflict(conn: Connection, job: Job, base: int) -> Faulted:
    """What was changed since the asker looked."""
    since = await reviews.revisions(conn, job.id, base)
    changes = [
        {"revision": each.revision, "kind": each.kind, "path": each.path, "before": each.before,
         "after": each.after, "by": each.made_by, "at": each.made_at.isoformat()}
        for each in since
    ]  # fmt: skip
    current = (await reviews.head(conn, job.id)).revision
    return Faulted("REVIEW_CONFLICT", jobId=str(job.id), revision=current, changes=changes)


async def reject(here: Site, owner: Owner, review: Opened, reason: str) -> None:
    async with connection(here.services.pool) as conn:
        base = review.head.revision
        if not await reviews.reject(conn, review.job.id, base=base, by=owner.key, reason=reason):
            raise await conflict(conn, review.job, base)
    here.services.changes.ring()


async def approve(here: Site, owner: Owner, review: Opened) -> list[str]:
    """What was seen becomes the result. The fields that the corrections taught are told."""
    found = await judged(review, review.data)
    if found.xml is None:
        raise Faulted("GW_4XX", found.refusal or "", reason=found.refusal)
    base, store = review.head.revision, here.services.store
    data = {**review.data, "checks": found.checks, "review": [], "notes": found.notes}
    data["reviewed"] = {"by": owner.key, "revision": base + 1}
    body = json.dumps(data, ensure_ascii=False).encode()
    made = {
        "data": await _keep(store, review, "data", body, JSON),
        "document": await _keep(store, review, "document", found.xml, XML),
    }
    taught = await _taught(here, owner, review)
    try:
        async with connection(here.services.pool) as conn:
            if not await reviews.approve(conn, review.job.id, made, base=base, by=owner.key):
                raise await conflict(conn, review.job, base)
            learned = await lessons.learn(
                conn, owner.key, taught, job_id=review.job.id,
                taught_by=review.job.original_filename,
            )  # fmt: skip
    except Faulted:
        await _drop(here, review, made)
        raise
    here.services.changes.ring()
    return learned


async def _drop(here: Site, review: Opened, made: dict[str, StoredResult]) -> None:
    """Bytes of an approval that was not written, unless it was and only its answer was lost."""
    with suppress(Faulted):
        async with connection(here.services.pool) as conn:
            job = await jobs.one(conn, review.job.id)
        if job is None or job.result_key != made["document"].key:
            for each in made.values():
                await here.services.store.delete(each.key)


async def _keep(store: Store, review: Opened, form: str, content: bytes, kind: str) -> StoredResult:
    packed = await asyncio.to_thread(gzip.compress, content, 6, mtime=0)
    key = reviewed_key(review.job.id, review.head.revision + 1, form)
    await store.put(key, packed)
    sha256 = hashlib.sha256(content).hexdigest()
    return StoredResult(key, kind, len(content), len(packed), sha256, review.version)


async def _taught(here: Site, owner: Owner, review: Opened) -> list[dict[str, Any]]:
    """What the corrections of this document teach about its layout; nothing is no fault."""
    fields = corrected(review)
    if not fields:
        return []
    async with reading(here.services.pool) as conn:
        if not await lessons.is_learning(conn, owner.key):
            return []
        known = await lessons.for_run(conn, owner.key)
    options = {"fields": fields, "seller": review.data.get("seller"), "lessons": known}
    try:
        answer = await confined.ask(
            here.confined, here.services.store, review.job, confined.TEACHER, options
        )
    except Faulted as exc:
        log.warning("review.not_taught", job=str(review.job.id), code=exc.fault.code)
        return []
    return json.loads(answer.data)["lessons"]


def corrected(review: Opened) -> dict[str, dict[str, Any]]:
    """The fields outside the lines that a person changed, with their places where given."""
    changed = {each.path: each for each in changes_of(review.history) if "[" not in each.path}
    return {
        path: {"value": each.after, **(each.place or {})}
        for path, each in changed.items()
        if each.after is not None and mappings.value_at(review.read, path) != each.after
    }
