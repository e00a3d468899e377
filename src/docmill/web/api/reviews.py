"""Reviews: what waits, what was read and edited, and the decision; approved ones for training."""

from typing import Annotated, Any, ClassVar, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from docmill.db import review_lists
from docmill.db.lists import Place
from docmill.db.pool import reading
from docmill.db.review_lists import Listed
from docmill.db.reviews import APPROVED, PENDING, REJECTED, STATUSES, Revision
from docmill.mappings.editing import replay
from docmill.mappings.texts import clean
from docmill.web import asking, bodies, edits, problems, reviews, samples
from docmill.web.api.jobs import LOOKUP
from docmill.web.deps import Asker, Here
from docmill.web.edits import Edit
from docmill.web.reviews import Judged, Opened
from docmill.web.shapes import Instant

router = APIRouter(prefix="/api/reviews", tags=["reviews"])

OPENED: Final = (*LOOKUP, "NOT_READY", "NOT_REVIEWABLE", "EXPIRED", "IO_ERROR")
CHANGED: Final = (*OPENED, "BAD_REQUEST", "CROSS_SITE", "REVIEW_CONFLICT")
MOST_EDITS: Final = 500


class ReviewShape(BaseModel):
    job_id: str
    filename: str
    pipeline: str
    mapping: str | None
    created_at: Instant
    status: str = Field(examples=list(STATUSES))
    revision: int = Field(description="Say which one you saw when you change something")
    doubts: int | None = Field(description="How many values the reader was not sure of")
    reason: str | None = Field(description="Why it was rejected")
    decided_by: str | None
    decided_at: Instant | None


class ReviewList(BaseModel):
    reviews: list[ReviewShape]
    next_cursor: str | None


class RevisionShape(BaseModel):
    """An edit with what was there before and after, or a decision."""

    revision: int
    kind: str = Field(examples=["edit", APPROVED, REJECTED])
    path: str | None
    before: Any
    after: Any
    reason: str | None
    by: str
    at: Instant


class JudgedShape(BaseModel):
    """What arithmetic and the mapping say."""

    checks: dict[str, str] = Field(description="Each rule: held, broken or not applicable")
    review: list[str] = Field(description="Paths a person should look at")
    reasons: dict[str, str] = Field(description="Why, by path")
    notes: list[str]
    xml: str | None = Field(description="The document as it would be approved")
    refusal: str | None = Field(description="Why there is no document")


class ReviewDetail(ReviewShape, JudgedShape):
    data: dict[str, Any] = Field(description="The invoice with all edits; evidence beside")
    history: list[RevisionShape]


class CheckAnswer(JudgedShape):
    values: dict[str, Any] = Field(description="The edited values as they would be kept, by path")
    mistakes: dict[str, str] = Field(description="What can't be kept and was left out, by path")


class Decision(ReviewShape):
    learned: list[str] = Field(description="Fields that the corrections taught")


class Seen(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    revision: int = Field(ge=0, description="The revision that you saw")


class Edits(Seen):
    edits: list[Edit] = Field(min_length=1, max_length=MOST_EDITS)


class Trial(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    edits: list[Edit] = Field(max_length=MOST_EDITS)


class Rejection(Seen):
    reason: str = Field(min_length=1, max_length=1000)


@router.get(
    "",
    summary="What waits for review, newest first; with `status` what was decided",
    responses=problems.documented("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_reviews(
    here: Here,
    owner: Asker,
    status: Annotated[list[str] | None, Query(description="One or several, with commas")] = None,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ReviewList:
    after = asking.listing(None, [], None, cursor).after
    async with reading(here.services.pool) as conn:
        found = await review_lists.listed(
            conn, owner.key, _statuses(status or []), after=after, limit=limit + 1
        )
    last = found[limit - 1] if len(found) > limit else None
    return ReviewList(
        reviews=[listed_shape(each) for each in found[:limit]],
        next_cursor=asking.cursor_of(Place(last.created_at, last.job_id)) if last else None,
    )


def _statuses(texts: list[str]) -> list[str]:
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    if set(words) - set(STATUSES):
        raise asking.refuse("status", f"one of {', '.join(STATUSES)}")
    return words or [PENDING]


@router.get(
    "/export",
    summary="Approved reviews as training samples, one JSON object a line, oldest first",
    response_class=Response,
    responses=problems.documented("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")
    | {200: {"description": "The samples", "content": {"application/jsonl": {}}}},
)
async def export_reviews(here: Here, owner: Asker) -> Response:
    """Each line has what was read, what was approved, and the edits between."""
    headers = {"content-disposition": 'attachment; filename="reviews.jsonl"'}
    lines = samples.lines(here.services, owner)
    return StreamingResponse(lines, media_type="application/jsonl", headers=headers)


@router.get(
    "/{job_id}",
    summary="One review: the values as edited, what to look at, the XML, and its history",
    responses=problems.documented(*OPENED),
)
async def one_review(job_id: str, here: Here, owner: Asker) -> ReviewDetail:
    review = await reviews.opened(here, owner, job_id)
    found = await reviews.judged(review, review.data)
    return ReviewDetail(
        **_facts(review),
        **_judged(found),
        data=review.data,
        history=[revision_shape(each) for each in review.history],
    )


@router.post(
    "/{job_id}/edits",
    summary="Change values, and put lines in or take them out; each is kept as a revision",
    openapi_extra=bodies.documented(Edits.model_json_schema()),
    responses=problems.documented(*CHANGED),
)
async def edit_review(job_id: str, request: Request, here: Here, owner: Asker) -> ReviewDetail:
    """All or none. An edit of what was decided opens the review again."""
    wish = await bodies.read(request, Edits)
    review = await _as_seen(here, owner, job_id, wish)
    if found := edits.changes(review.data, wish.edits):
        await reviews.edit(here, owner, review, found)
    return await one_review(job_id, here, owner)


@router.post(
    "/{job_id}/check",
    summary="What arithmetic and the mapping would say after these edits; nothing is kept",
    openapi_extra=bodies.documented(Trial.model_json_schema()),
    responses=problems.documented(*OPENED, "BAD_REQUEST", "CROSS_SITE"),
)
async def check_review(job_id: str, request: Request, here: Here, owner: Asker) -> CheckAnswer:
    wish = await bodies.read(request, Trial)
    review = await reviews.opened(here, owner, job_id)
    found, wrong = edits.tried(review.data, wish.edits)
    judged = await reviews.judged(review, replay(review.data, found))
    return CheckAnswer(
        **_judged(judged),
        values={each.path: each.after for each in found},
        mistakes={wish.edits[index].path: mistake.says for index, mistake in wrong.items()},
    )


@router.post(
    "/{job_id}/approve",
    summary="Approve what you saw: the document made of it becomes the download",
    openapi_extra=bodies.documented(Seen.model_json_schema()),
    responses=problems.documented(*CHANGED, "GW_4XX"),
)
async def approve_review(job_id: str, request: Request, here: Here, owner: Asker) -> Decision:
    """What was read before stays: `GET /api/jobs/{id}/download?original=true`."""
    review = await _as_seen(here, owner, job_id, await bodies.read(request, Seen))
    learned = await reviews.approve(here, owner, review)
    return Decision(**_facts(await reviews.opened(here, owner, job_id)), learned=learned)


@router.post(
    "/{job_id}/reject",
    summary="Reject a result with a reason; the download stays as it is",
    openapi_extra=bodies.documented(Rejection.model_json_schema()),
    responses=problems.documented(*CHANGED),
)
async def reject_review(job_id: str, request: Request, here: Here, owner: Asker) -> ReviewShape:
    wish = await bodies.read(request, Rejection)
    review = await _as_seen(here, owner, job_id, wish)
    if not (reason := clean(wish.reason)):
        raise asking.refuse("body.reason", "says nothing")
    await reviews.reject(here, owner, review, reason)
    return ReviewShape(**_facts(await reviews.opened(here, owner, job_id)))


async def _as_seen(here: Here, owner: Asker, job_id: str, seen: Seen) -> Opened:
    """The review, if nobody changed it since the asker looked."""
    review = await reviews.opened(here, owner, job_id)
    if seen.revision != review.head.revision:
        async with reading(here.services.pool) as conn:
            raise await reviews.conflict(conn, review.job, seen.revision)
    return review


def listed_shape(each: Listed) -> ReviewShape:
    names = ReviewShape.model_fields.keys() - {"job_id"}
    return ReviewShape(job_id=str(each.job_id), **{name: getattr(each, name) for name in names})


def _facts(review: Opened) -> dict[str, Any]:
    job, head = review.job, review.head
    return {
        "job_id": str(job.id),
        "filename": job.original_filename,
        "pipeline": job.pipeline,
        "mapping": job.mapping,
        "created_at": job.created_at,
        "status": head.status,
        "revision": head.revision,
        "doubts": head.doubts,
        "reason": head.reason,
        "decided_by": head.decided_by,
        "decided_at": head.decided_at,
    }


def _judged(found: Judged) -> dict[str, Any]:
    return {
        "checks": found.checks,
        "review": found.review,
        "reasons": found.reasons,
        "notes": found.notes,
        "xml": found.xml.decode() if found.xml else None,
        "refusal": found.refusal,
    }


def revision_shape(each: Revision) -> RevisionShape:
    return RevisionShape(
        revision=each.revision,
        kind=each.kind,
        path=each.path,
        before=each.before,
        after=each.after,
        reason=each.reason,
        by=each.made_by,
        at=each.made_at,
    )
