"""Review: a result opened with its edits, changed, judged again, and decided on."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from docmill.core.documents import reviewed_key
from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, Status, StoredResult
from docmill.core.owners import Owner
from docmill.core.plugins import Artifact
from docmill.core.summaries import APPROVED, REJECTED
from docmill.db.pool import Connection, connection, read_connection, write
from docmill.documents import queries as documents_queries
from docmill.documents.previews import SharedRuns
from docmill.invoices import checks as invoices_checks
from docmill.invoices import fields as invoices_fields
from docmill.invoices import queries
from docmill.invoices.checks import explain_doubts
from docmill.invoices.doubts import find_doubts
from docmill.invoices.edits import Change, replay
from docmill.invoices.formats import choosing
from docmill.invoices.profile import Profile, complete_profile
from docmill.invoices.queries import ReviewHead, Revision, TrainingSample
from docmill.invoices.summary import summarize_invoice
from docmill.jobs import results
from docmill.queue import enqueue
from docmill.queue.enqueue import find_own_job
from docmill.storage.contract import Store
from docmill.web.params import Cursor, format_instant
from docmill.web.site import Site

log = structlog.get_logger()

JSON: Final = "application/json"
XML: Final = "application/xml"
TEACHER: Final = "invoice-teacher"


@dataclass(frozen=True, slots=True)
class OpenReview:
    """A review as it stands: what was read, what was done to it, and what it says now."""

    job: Job
    head: ReviewHead
    history: list[Revision]
    read: dict[str, Any]
    data: dict[str, Any]
    profile: Profile
    version: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What arithmetic and the mapping say of an invoice. No `xml`: `refusal` says why.

    `written_by` is the mapping that wrote the XML.
    """

    checks: dict[str, str]
    review: list[str]
    reasons: dict[str, str]
    notes: list[str]
    xml: bytes | None
    refusal: str | None = None
    written_by: str | None = None


async def open_review(site: Site, owner: Owner, job_id: str) -> OpenReview:
    """The review of the asker's job, if its result is there and was mapped."""
    async with read_connection(site.pool) as conn:
        job = await find_own_job(conn, owner, job_id)
        if (job.status is Status.COMPLETE or job.reading_key) and job.mapping is None:
            raise DocmillError("NOT_REVIEWABLE", jobId=str(job.id), pipeline=job.pipeline)
        found = await results.require_reading(conn, job, original=True)
        head = await queries.load_head(conn, job.id)
        history = (await queries.load_revisions(conn, job.id))[: head.revision]
        saved_profile = await documents_queries.read_profile(conn, owner.key)
    read = await results.read_data(site.pool, site.store, found.key)
    data = replay(read, list_changes(history))
    profile = complete_profile(read.get("profile"), saved_profile)
    return OpenReview(job, head, history, read, data, profile, found.version)


def list_changes(history: Sequence[Revision]) -> list[Change]:
    return [
        Change(each.path, each.before, each.after, each.place, checked=each.kind == queries.CHECKED)
        for each in history
        if each.path is not None
    ]


async def judge(review: OpenReview, data: dict[str, Any]) -> Judgement:
    """The same arithmetic and the same mapping as a run's, on what a person made of it."""
    found = await asyncio.to_thread(_judge_data, str(review.job.mapping), data, review.profile)
    if review.head.status == queries.APPROVED and data is review.data:
        return replace(found, review=[], reasons={})  # a person has looked
    return found


def _judge_data(mapping: str, data: dict[str, Any], profile: Profile) -> Judgement:
    checks = invoices_checks.run_checks(data)
    sure = {path for path, seen in data["evidence"].items() if seen.get("checked")}
    doubts = [path for path in find_doubts(data, checks) if path not in sure]
    try:
        written = choosing.write_invoice(mapping, data, profile)
    except DocmillError as exc:
        return Judgement(
            checks,
            doubts,
            explain_doubts(data, doubts, checks, []),
            [],
            None,
            choosing.explain_refusal(exc),
        )
    made = written.emitted
    edited = {path for path, seen in data["evidence"].items() if seen.get("edited")}
    flagged = [
        path
        for path in map(invoices_fields.bracket_path, made.review)
        if path not in edited and path not in sure
    ]
    review, notes = list(dict.fromkeys((*doubts, *flagged))), list(made.notes)
    reasons = explain_doubts(data, review, checks, notes)
    return Judgement(checks, review, reasons, notes, made.xml, written_by=written.mapping)


async def edit_review(
    site: Site, owner: Owner, review: OpenReview, changes: Sequence[Change]
) -> None:
    """Keep these changes of what the asker saw, or refuse with what came first."""

    async def keep(conn: Connection) -> None:
        kept = await queries.record_edits(
            conn, review.job.id, changes, base=review.head.revision, by=owner.key
        )
        if not kept:
            raise await make_conflict(conn, review.job, review.head.revision)
        await queries.record_summary(conn, review.job.id, summary)

    summary = await _summarize_edited(review, changes)
    await write(site.pool, keep)
    site.changes.ring()


async def _summarize_edited(review: OpenReview, changes: Sequence[Change]) -> dict[str, Any]:
    data = replay(review.read, [*list_changes(review.history), *changes])
    return summarize_invoice(data, check=len((await judge(review, data)).review))


async def make_conflict(conn: Connection, job: Job, base: int) -> DocmillError:
    """What was changed since the asker looked."""
    since = await queries.load_revisions(conn, job.id, base)
    changes = [
        {"revision": each.revision, "kind": each.kind, "path": each.path, "before": each.before,
         "after": each.after, "by": each.made_by, "at": each.made_at.isoformat()}
        for each in since
    ]  # fmt: skip
    current = (await queries.load_head(conn, job.id)).revision
    return DocmillError("REVIEW_CONFLICT", jobId=str(job.id), revision=current, changes=changes)


async def reject_review(site: Site, owner: Owner, review: OpenReview, reason: str) -> None:
    base = review.head.revision

    async def refuse(conn: Connection) -> None:
        if not await queries.record_rejection(
            conn, review.job.id, base=base, by=owner.key, reason=reason
        ):
            raise await make_conflict(conn, review.job, base)
        summary = summarize_invoice(review.data, check=0, state=REJECTED)
        await queries.record_summary(conn, review.job.id, summary)

    await write(site.pool, refuse)
    site.changes.ring()


async def approve_review(site: Site, owner: Owner, review: OpenReview) -> list[str]:
    """What was seen becomes the result, with a document where the format takes it.

    The fields that the corrections taught are told.
    """
    found = await judge(review, review.data)
    base, store = review.head.revision, site.store
    data = {**review.data, "checks": found.checks, "review": [], "notes": found.notes}
    data["reviewed"] = {"by": owner.key, "revision": base + 1}
    body = json.dumps(data, ensure_ascii=False).encode()
    made = {"data": await _store_result(store, review, "data", Artifact(body, JSON))}
    if found.xml is not None:
        xml = Artifact(found.xml, XML)
        made["document"] = await _store_result(store, review, "document", xml, found.written_by)
    taught = await _teach(site, owner, review)

    async def finish(conn: Connection) -> list[str]:
        if not await queries.record_approval(conn, review.job.id, made, base=base, by=owner.key):
            raise await make_conflict(conn, review.job, base)
        summary = summarize_invoice(data, check=0, state=APPROVED)
        await queries.record_summary(conn, review.job.id, summary)
        return await queries.learn(
            conn, owner.key, taught, job_id=review.job.id,
            taught_by=review.job.original_filename,
        )  # fmt: skip

    try:
        learned = await write(site.pool, finish)
    except DocmillError:
        await _delete_results(site, review, made)
        raise
    site.changes.ring()
    return learned


async def _delete_results(site: Site, review: OpenReview, made: dict[str, StoredResult]) -> None:
    """Bytes of an approval that was not written, unless it was and only its answer was lost."""
    with suppress(DocmillError):
        async with connection(site.pool) as conn:
            job = await enqueue.find_job(conn, review.job.id)
        kept = {made.get("document", made["data"]).key}
        if job is None or not kept & {job.result_key, job.reading_key}:
            for each in made.values():
                await site.store.delete(each.key)


async def _store_result(
    store: Store, review: OpenReview, form: str, made: Artifact, mapping: str | None = None
) -> StoredResult:
    key = reviewed_key(review.job.id, review.head.revision + 1, form)
    return await results.write_result(store, key, made, review.version, mapping=mapping)


async def _teach(site: Site, owner: Owner, review: OpenReview) -> list[dict[str, Any]]:
    """What the corrections of this document teach about its layout; nothing is no fault."""
    fields, columns = find_corrections(review), find_corrected_columns(review)
    if not fields and not columns:
        return []
    async with read_connection(site.pool) as conn:
        if not await queries.is_learning(conn, owner.key):
            return []
        known = await queries.lessons_for_run(conn, owner.key)
    seller = review.data.get("seller")
    options = {"fields": fields, "columns": columns, "seller": seller, "lessons": known}
    try:
        runs = site.find(SharedRuns)
        answer = await runs.run(site, review.job, owner.key, TEACHER, options)
    except DocmillError as exc:
        log.warning("review.not_taught", job=str(review.job.id), code=exc.fault.code)
        return []
    return json.loads(answer.data)["lessons"]


def find_corrections(review: OpenReview) -> dict[str, dict[str, Any]]:
    """The fields outside the lines that a person changed, with their places where given."""
    edits = [each for each in list_changes(review.history) if not each.checked]
    changed = {each.path: each for each in edits if "[" not in each.path}
    return {
        path: {"value": each.after, **(each.place or {})}
        for path, each in changed.items()
        if each.after is not None and invoices_fields.value_at(review.read, path) != each.after
    }


def find_corrected_columns(review: OpenReview) -> dict[str, list[dict[str, Any]]]:
    """The cells that a person changed, where they are most of a column and it is known where they
    stand, by the name of their field.
    """
    count = len(invoices_fields.lines_of(review.data))
    columns = {
        field.name: [
            cell for at in range(count) if (cell := _find_corrected(review, at, field.name))
        ]
        for field in invoices_fields.LINE_FIELDS
        if field.read
    }
    return {name: cells for name, cells in columns.items() if cells and 2 * len(cells) > count}


def _find_corrected(review: OpenReview, line: int, name: str) -> dict[str, Any] | None:
    path = f"lines[{line}].{name}"
    seen: dict[str, Any] = review.data["evidence"].get(path) or {}
    value = invoices_fields.value_at(review.data, path)
    if value is None or not seen.get("edited"):
        return None
    place = seen if seen.get("box") else _find_read_cell(review, line, value)
    return {"value": value, "page": place["page"], "box": place["box"]} if place else None


def _find_read_cell(review: OpenReview, line: int, value: str) -> dict[str, Any] | None:
    """Where this value stood when it was read as another of its line."""
    evidence: dict[str, Any] = review.read.get("evidence") or {}
    for field in invoices_fields.LINE_FIELDS:
        path = f"lines[{line}].{field.name}"
        seen: dict[str, Any] = evidence.get(path) or {}
        if seen.get("box") and invoices_fields.value_at(review.read, path) == value:
            return seen
    return None


BATCH: Final = 50


async def stream_samples(site: Site, owner: Owner) -> AsyncIterator[bytes]:
    """However many there are, a few are in memory at a time, and no transaction stays open."""
    after: Cursor | None = None
    while True:
        async with read_connection(site.pool) as conn:
            found = await queries.list_samples(conn, owner.key, after=after, limit=BATCH)
            steps = [await queries.load_revisions(conn, each.job_id) for each in found]
        for sample, history in zip(found, steps, strict=True):
            if line := await _line_unless_gone(site, sample, history):
                yield line
        if len(found) < BATCH:
            return
        after = Cursor(found[-1].created_at, found[-1].job_id)


async def _line_unless_gone(
    site: Site, sample: TrainingSample, history: list[Revision]
) -> bytes | None:
    """None for one that retention took since we looked, and for one that is damaged."""
    try:
        return await _sample_line(site, sample, history)
    except DocmillError as exc:
        if exc.fault.code in {"EXPIRED", "DAMAGED"}:
            return None
        raise


async def _sample_line(site: Site, sample: TrainingSample, history: list[Revision]) -> bytes:
    edits = [
        {"path": each.path, "before": each.before, "after": each.after, "place": each.place,
         "by": each.made_by, "at": format_instant(each.made_at)}
        for each in history
        if each.kind == "edit" and each.revision < sample.revision
    ]  # fmt: skip
    line: dict[str, Any] = {
        "job_id": str(sample.job_id),
        "filename": sample.filename,
        "sha256": sample.sha256,
        "pipeline": sample.pipeline,
        "mapping": sample.mapping,
        "revision": sample.revision,
        "approved_by": sample.decided_by,
        "approved_at": format_instant(sample.decided_at),
        "edits": edits,
        "read": await results.read_data(site.pool, site.store, sample.read_key),
        "approved": await results.read_data(site.pool, site.store, sample.approved_key),
    }
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"
