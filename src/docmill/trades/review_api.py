"""The trades of one document under review, for the review page and for programs alike."""

from typing import Any, ClassVar, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from docmill.db.pool import read_connection
from docmill.documents.api import DOCUMENT_LOOKUP
from docmill.jobs.review_shapes import (
    MOST_EDITS,
    CheckedPaths,
    Rejection,
    SeenRevision,
    list_mistakes,
)
from docmill.trades import edits, queries, reviews
from docmill.trades.api import TradeShape, shape_trade
from docmill.trades.edits import TradeDraft, TradeEdit
from docmill.trades.reviews import NoteReview
from docmill.web import json_body, problems
from docmill.web.params import Instant
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(prefix="/api/documents", tags=["trades"])

CHANGE_FAULTS: Final = (
    *DOCUMENT_LOOKUP, "BAD_REQUEST", "TOO_LARGE", "CROSS_SITE", "REVIEW_CONFLICT",
)  # fmt: skip


class NoteStep(BaseModel):
    """A value that was edited, with what was there before and after, or a decision."""

    revision: int
    trade_id: str
    kind: str = Field(examples=["edit", "approved"])
    path: str | None
    before: str | None
    after: str | None
    reason: str | None
    by: str
    at: Instant


class NoteJudgement(BaseModel):
    """What a person should look at."""

    review: list[str] = Field(description="Paths", examples=[["lines[0].notional"]])
    reasons: dict[str, str] = Field(description="Why, by path")
    checks: dict[str, str] = Field(description="Whether quantity times price is the notional")


class NoteCheck(NoteJudgement):
    values: dict[str, str] = Field(description="All values as they would be kept, by path")
    mistakes: dict[str, str] = Field(description="What can't be kept and was left out, by path")


class NoteDetail(NoteJudgement):
    document_id: str
    filename: str
    status: str = Field(examples=["pending"])
    revision: int = Field(description="Say which one you saw when you change something")
    trades: list[TradeShape] = Field(description="Those not rejected: `lines[0]` is the first")
    rejected: list[TradeShape]
    data: dict[str, Any] = Field(description="`evidence`: place and confidence of each path")
    history: list[NoteStep]


class TradeEdits(SeenRevision):
    edits: list[TradeEdit] = Field(min_length=1, max_length=MOST_EDITS)


class TradeTrial(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    edits: list[TradeEdit] = Field(max_length=MOST_EDITS)


@router.get(
    "/{document_id}/trades",
    summary="The trades of a document, what to look at in them, and their history",
    responses=problems.fault_responses(*DOCUMENT_LOOKUP),
)
async def show_note(document_id: str, site: CurrentSite, owner: CurrentOwner) -> NoteDetail:
    note = await reviews.open_note(site, owner, document_id)
    async with read_connection(site.pool) as conn:
        history = await queries.list_note_audit(conn, note.document.id)
    drafts = [edits.make_draft(trade) for trade in note.live]
    return NoteDetail(
        **_judge(note, drafts),
        document_id=str(note.document.id),
        filename=note.document.original_filename,
        status=note.status,
        revision=note.revision,
        trades=[shape_trade(trade) for trade in note.live],
        rejected=[shape_trade(one) for one in note.trades if one.review_status == "rejected"],
        data={"evidence": reviews.list_evidence(drafts)},
        history=[NoteStep(**step) for line in history for step in reviews.list_steps(line, note)],
    )


def _judge(note: NoteReview, drafts: list[TradeDraft]) -> dict[str, Any]:
    reasons = reviews.list_doubts(drafts, note.threshold)
    return {"review": list(reasons), "reasons": reasons, "checks": reviews.run_checks(drafts)}


@router.post(
    "/{document_id}/trades/edits",
    summary="Change values of several trades, add trades or reject them; all or none",
    openapi_extra=json_body.describe_body(
        TradeEdits.model_json_schema(ref_template=json_body.SCHEMA_REF)
    ),
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def edit_note(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> NoteDetail:
    """An edit of what was decided opens the review of that trade again."""
    wish = await json_body.read_json(request, TradeEdits)
    note = await _open_as_seen(site, owner, document_id, wish)
    await reviews.edit_note(site, owner, note, wish.edits)
    return await show_note(document_id, site, owner)


@router.post(
    "/{document_id}/trades/checked",
    summary="Say that values are right as they are; they are no more to be looked at",
    openapi_extra=json_body.describe_body(CheckedPaths.model_json_schema()),
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def mark_cells_checked(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> NoteDetail:
    """Kept until such a value is edited. Of what was decided nothing is changed."""
    wish = await json_body.read_json(request, CheckedPaths)
    note = await _open_as_seen(site, owner, document_id, wish)
    await reviews.check_note(site, owner, note, wish.paths)
    return await show_note(document_id, site, owner)


@router.post(
    "/{document_id}/trades/check",
    summary="What there would be to look at after these edits; nothing is kept",
    openapi_extra=json_body.describe_body(
        TradeTrial.model_json_schema(ref_template=json_body.SCHEMA_REF)
    ),
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def check_note(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> NoteCheck:
    wish = await json_body.read_json(request, TradeTrial)
    note = await reviews.open_note(site, owner, document_id)
    drafts, wrong = edits.try_edits(note.trades, wish.edits)
    evidence = reviews.list_evidence(drafts)
    return NoteCheck(
        **_judge(note, drafts),
        values={path: seen["text"] for path, seen in evidence.items()},
        mistakes=list_mistakes(wish.edits, wrong),
    )


@router.post(
    "/{document_id}/trades/approve",
    summary="Say that all trades of a document that wait are right, as you saw them",
    openapi_extra=json_body.describe_body(SeenRevision.model_json_schema()),
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def approve_note(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> NoteDetail:
    wish = await json_body.read_json(request, SeenRevision)
    note = await _open_as_seen(site, owner, document_id, wish)
    await reviews.decide_note(site, owner, note, "approved")
    return await show_note(document_id, site, owner)


@router.post(
    "/{document_id}/trades/reject",
    summary="Say that all trades of a document are wrong, and why",
    openapi_extra=json_body.describe_body(Rejection.model_json_schema()),
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def reject_note(
    document_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> NoteDetail:
    wish = await json_body.read_json(request, Rejection)
    note = await _open_as_seen(site, owner, document_id, wish)
    reason = wish.read_reason()
    await reviews.decide_note(site, owner, note, "rejected", reason=reason)
    return await show_note(document_id, site, owner)


async def _open_as_seen(
    site: CurrentSite, owner: CurrentOwner, document_id: str, seen: SeenRevision
) -> NoteReview:
    """The trades, if nobody changed them since the asker looked."""
    note = await reviews.open_note(site, owner, document_id)
    if seen.revision != note.revision:
        async with read_connection(site.pool) as conn:
            raise await reviews.make_conflict(conn, note, seen.revision)
    return note
