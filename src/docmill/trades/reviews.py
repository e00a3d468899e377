"""The trades of one document under review: opened, edited, judged again, and decided on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from docmill.core.amounts import find_mark
from docmill.core.faults import DocmillError
from docmill.core.jobs import Job, JobId
from docmill.core.owners import Owner, OwnerKey
from docmill.core.plugins import MenuEntry
from docmill.db.pool import Connection, read_connection, write
from docmill.documents.originals import require_document
from docmill.documents.queries import DocumentRow
from docmill.jobs.preferences import read_preferences
from docmill.jobs.review_shapes import EditError, make_refusal
from docmill.trades import checks, doubts, edits, queries
from docmill.trades.edits import TradeDraft, TradeEdit
from docmill.trades.fields import NAMES
from docmill.trades.queries import NoteAudit, ReviewStatus, Trade, TradeId
from docmill.web.params import format_instant
from docmill.web.site import Site

KINDS: Final = {"edited": "edit", "checked": "checked"}


@dataclass(frozen=True, slots=True)
class NoteReview:
    """A document with its trades as they stand. `revision` is the last line of their history."""

    document: DocumentRow
    trades: list[Trade]
    revision: int
    threshold: float | None

    @property
    def live(self) -> list[Trade]:
        return [trade for trade in self.trades if trade.review_status != "rejected"]

    @property
    def pending(self) -> list[TradeId]:
        return [trade.id for trade in self.trades if trade.review_status == "pending"]

    @property
    def status(self) -> str:
        if self.pending or not self.trades:
            return "pending"
        return "approved" if self.live else "rejected"

    @property
    def job_id(self) -> JobId | None:
        jobs = [trade.job_id for trade in self.trades if trade.job_id]
        return jobs[-1] if jobs else self.document.job_id

    @property
    def mark(self) -> str:
        """The decimal mark that is usual where the trades' currency is used."""
        codes = [trade.values["currency"] for trade in self.trades if trade.values["currency"]]
        return find_mark(str(codes[0])) if codes else "."


async def open_note(site: Site, owner: Owner, document_id: str) -> NoteReview:
    """The document's trades, if the asker may see it."""
    async with read_connection(site.pool) as conn:
        document = await require_document(conn, owner, document_id)
        revision = await queries.find_revision(conn, document.id)
        trades = await queries.trades_of_document(conn, document.id)
        threshold = await read_threshold(conn, document.owner)
    return NoteReview(document, trades, revision, threshold)


async def tell_review(conn: Connection, job: Job) -> dict[str, Any] | None:
    """For a receipt: who decided on each trade, a person or a rule; `revision` of the document."""
    trades = await queries.list_decisions(conn, job.id)
    if not any(one["reviewer"] for one in trades):
        return None
    waiting = any(one["status"] == "pending" for one in trades)
    for one in trades:
        one["at"] = format_instant(one["at"]) if one["at"] else None
    revision = await queries.find_revision(conn, job.document_id)
    return {"status": "pending" if waiting else "decided", "revision": revision, "trades": trades}


async def read_threshold(conn: Connection, owner: str) -> float | None:
    """How sure is sure enough, if the owner has set it."""
    return (await read_preferences(conn, OwnerKey(owner))).review_threshold


def explain_draft(draft: TradeDraft, threshold: float | None) -> dict[str, str]:
    """Why a trade that waits should be looked at, by name of the value."""
    if draft.rejected or not draft.waits:
        return {}
    raw: Mapping[str, Any] = draft.trade.raw_extracted_data if draft.trade else {}
    found = doubts.explain_doubts(draft.values, draft.evidence, raw, threshold)
    if found or draft.changed or draft.trade is None or draft.trade.edited_at:
        return found
    return checks.find_weakest(draft.values, draft.evidence)


def list_doubts(drafts: Sequence[TradeDraft], threshold: float | None) -> dict[str, str]:
    """The same of all trades, by path."""
    live = [draft for draft in drafts if not draft.rejected]
    return {
        f"lines[{at}].{name}": reason
        for at, draft in enumerate(live)
        for name, reason in explain_draft(draft, threshold).items()
    }


def run_checks(drafts: Sequence[TradeDraft]) -> dict[str, str]:
    """For each notional whether it is quantity times price."""
    live = [draft for draft in drafts if not draft.rejected]
    return {
        f"lines[{at}].notional": "held" if checks.multiplies(draft.values) else "broken"
        for at, draft in enumerate(live)
        if None not in (draft.values[name] for name in checks.PRODUCT)
    }


def list_evidence(drafts: Sequence[TradeDraft]) -> dict[str, Any]:
    """For each cell where it stands, how sure it is, and its text as it is kept."""
    live = [draft for draft in drafts if not draft.rejected]
    return {
        f"lines[{at}].{name}": {
            "confidence": None, "page": None, "box": None,
            **(draft.evidence.get(name) or {}),
            "text": edits.write_value(draft.values[name]),
        }
        for at, draft in enumerate(live)
        for name in NAMES
    }  # fmt: skip


async def edit_note(
    site: Site, owner: Owner, note: NoteReview, changes: Sequence[TradeEdit]
) -> None:
    """Keep all of these changes of what the asker saw, or refuse with what is wrong."""
    drafts, mistakes = edits.try_edits(note.trades, changes)
    if mistakes:
        raise make_refusal(mistakes)
    await save_drafts(site, owner, note, drafts)


async def check_note(site: Site, owner: Owner, note: NoteReview, paths: Sequence[str]) -> None:
    """Keep that a person looked at these values and they are right as they are."""
    drafts = edits.check_values(note.trades, paths)

    async def keep(conn: Connection) -> None:
        await _hold(conn, note)
        for draft in drafts:
            assert draft.trade is not None
            values = {name: edits.write_value(draft.values[name]) for name in draft.checked}
            await queries.check_trade(conn, draft.trade.id, values, draft.evidence, who=owner.key)

    await write(site.pool, keep)
    site.changes.ring()


async def save_drafts(
    site: Site, owner: Owner, note: NoteReview, drafts: Sequence[TradeDraft]
) -> list[TradeId]:
    """Those that were changed, added or rejected; their ids."""

    async def save(conn: Connection) -> list[TradeId]:
        await _hold(conn, note)
        saved = [await _save_draft(conn, owner, note, draft) for draft in drafts]
        await queries.summarize_jobs(conn, [one for one in saved if one])
        return [one for one in saved if one]

    changed = await write(site.pool, save)
    site.changes.ring()
    return changed


async def _save_draft(
    conn: Connection, owner: Owner, note: NoteReview, draft: TradeDraft
) -> TradeId | None:
    trade, who = draft.trade, owner.key
    if trade is None and draft.rejected:
        return None
    if trade is None:
        source = (note.document.id, note.job_id)
        return await queries.add_trade(conn, source, draft.values, draft.evidence, who=who)
    if draft.changed:
        await queries.edit_trade(conn, trade.id, draft.values, draft.evidence, who=who)
    if draft.rejected:
        await queries.set_review_status(conn, [trade.id], "rejected", who=who)
    return trade.id if draft.changed or draft.rejected else None


async def decide_note(
    site: Site, owner: Owner, note: NoteReview, status: ReviewStatus, *, reason: str = ""
) -> None:
    """Approve what waits, or reject all that is not rejected yet."""
    chosen = note.pending if status == "approved" else [trade.id for trade in note.live]

    async def decide(conn: Connection) -> None:
        await _hold(conn, note)
        await queries.set_review_status(conn, chosen, status, who=owner.key, reason=reason)

    await write(site.pool, decide)
    site.changes.ring()


async def _hold(conn: Connection, note: NoteReview) -> None:
    ids = [trade.id for trade in note.trades]
    if await queries.hold_trades(conn, note.document.id, ids) != note.revision:
        raise await make_conflict(conn, note, note.revision)


async def make_conflict(conn: Connection, note: NoteReview, seen: int) -> DocmillError:
    """What was changed since the asker looked."""
    since = await queries.list_note_audit(conn, note.document.id, seen)
    steps = [step for line in since for step in list_steps(line, note)]
    changes = [{**step, "at": step["at"].isoformat()} for step in steps]
    revision = max([seen, *(line.id for line in since)])
    return DocmillError(
        "REVIEW_CONFLICT",
        documentId=str(note.document.id),
        revision=revision,
        changes=changes,
    )


def list_steps(line: NoteAudit, note: NoteReview) -> Iterator[dict[str, Any]]:
    """A line of the history: each value that was edited, or the decision."""
    about = {"revision": line.id, "trade_id": str(line.trade_id), "by": line.who, "at": line.at}
    before, after = line.before or {}, line.after or {}
    if line.action == "checked":
        before = after
    if line.action not in {"edited", "checked"}:
        reason = after.get("reason") if line.action == "rejected" else None
        yield {
            **about, "kind": line.action, "path": None,
            "before": None, "after": None, "reason": reason,
        }  # fmt: skip
        return
    index = next((at for at, trade in enumerate(note.live) if trade.id == line.trade_id), None)
    for name in (name for name in NAMES if name in after):
        path = name if index is None else f"lines[{index}].{name}"
        yield {
            **about, "kind": KINDS[line.action], "path": path, "before": _as_text(before.get(name)),
            "after": _as_text(after[name]), "reason": None,
        }  # fmt: skip


def _as_text(value: object) -> str | None:
    return None if value is None else str(value)


async def patch_trade(
    site: Site, owner: Owner, trade: Trade, given: Mapping[str, str | None]
) -> None:
    """Change values of one trade; all of them are right, or none is kept."""
    note = await open_note(site, owner, str(trade.document_id))
    fresh = next((one for one in note.trades if one.id == trade.id), None)
    if fresh is None:
        raise DocmillError("TRADE_NOT_FOUND", tradeId=str(trade.id))
    draft = edits.make_draft(fresh)
    _set_values(draft, given)
    if draft.changed:
        await save_drafts(site, owner, note, [draft])


async def add_trade(
    site: Site, owner: Owner, document_id: str, given: Mapping[str, str | None]
) -> TradeId:
    """A trade that the reader did not see."""
    note = await open_note(site, owner, document_id)
    draft = TradeDraft(None, dict.fromkeys(NAMES), {})
    _set_values(draft, {edits.SIDE: None, **given})
    (added,) = await save_drafts(site, owner, note, [draft])
    return added


def _set_values(draft: TradeDraft, given: Mapping[str, str | None]) -> None:
    mistakes: list[dict[str, str]] = []
    for name, text in given.items():
        try:
            edits.set_value(draft, name, text)
        except EditError as exc:
            mistakes.append({"at": f"body.{name}", "message": exc.says})
    if mistakes:
        raise DocmillError("BAD_REQUEST", mistakes=mistakes)


async def find_waiting(conn: Connection, owner: Owner) -> MenuEntry | None:
    """For the review page, which is about invoices: how many notes wait, and where."""
    found = await queries.list_waiting(conn, owner, 1)
    count = found[0].notes if found else 0
    title = f"{count} trade {'note' if count == 1 else 'notes'} to check"
    return MenuEntry("trades", "/trades/review", title) if count else None


def describe_person(who: str, asker: Owner) -> str:
    """Whom a page names: the asker, an account, or whatever else it was."""
    kind, _, name = who.partition(":")
    if who == asker.key:
        return "you"
    return {"user": name, "session": "somebody without an account", "job": "docmill"}.get(kind, who)


def describe_trade(trade: Trade) -> str:
    """What people call it."""
    values = trade.values
    return str(
        values["name"] or values["isin"] or values["ticker"] or f"trade {trade.position + 1}"
    )


def describe_approval(trade: Trade, owner: Owner) -> str:
    """By whom, or by which rule in words; empty where it is not approved."""
    by = trade.approved_by or ""
    return by if by.startswith("rule") else by and f"by {describe_person(by, owner)}"
