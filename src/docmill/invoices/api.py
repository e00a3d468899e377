"""Reviews: what waits, what was edited and decided, what needed nobody, and what they teach."""

from dataclasses import asdict
from typing import Annotated, Any, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from docmill.core.faults import DocmillError
from docmill.db.pool import read_connection, write
from docmill.invoices import edits, queries, reviews, touchless
from docmill.invoices.edits import Edit, replay
from docmill.invoices.queries import (
    APPROVED,
    CHECKED,
    PENDING,
    REJECTED,
    SORTS,
    STATUSES,
    LessonRow,
    ReviewFilter,
    ReviewRow,
    Revision,
)
from docmill.invoices.reviews import Judgement, OpenReview
from docmill.invoices.values import clean
from docmill.jobs import experience
from docmill.jobs.experience_shapes import CalibrateAnswer, TouchlessAnswer, make_touchless_answer
from docmill.jobs.review_shapes import (
    MOST_EDITS,
    CheckedPaths,
    Rejection,
    SeenRevision,
    list_mistakes,
)
from docmill.web import json_body, params, problems
from docmill.web.params import Cursor, CursorText, Instant
from docmill.web.site import CurrentOwner, CurrentSite

reviews_router = APIRouter(prefix="/api/reviews", tags=["reviews"])

OPEN_FAULTS: Final = (
    *problems.LOOKUP_FAULTS,
    "NOT_READY",
    "NOT_REVIEWABLE",
    "EXPIRED",
    "IO_ERROR",
    "DAMAGED",
)
CHANGE_FAULTS: Final = (*OPEN_FAULTS, "BAD_REQUEST", "CROSS_SITE", "REVIEW_CONFLICT")
ReviewSortText = Annotated[str, WithJsonSchema(params.words_schema(SORTS))]
ReviewStatusText = Annotated[str, WithJsonSchema(params.words_schema(STATUSES))]


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
    approved_by: str | None = Field(None, description="A person, or a rule: `rule <= 1 %`")
    summary: dict[str, Any] | None = Field(
        None, description="Of a list: supplier (`title`), number, date, amount and currency"
    )


class ReviewList(BaseModel):
    reviews: list[ReviewShape]
    next_cursor: str | None


class RevisionShape(BaseModel):
    """An edit with what was there before and after, a value checked, or a decision."""

    revision: int
    kind: str = Field(examples=["edit", CHECKED, APPROVED, REJECTED])
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


class Edits(SeenRevision):
    edits: list[Edit] = Field(min_length=1, max_length=MOST_EDITS)


class Trial(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    edits: list[Edit] = Field(max_length=MOST_EDITS)


def _parse_statuses(texts: list[str]) -> list[str]:
    words = [word.strip(" ") for text in texts for word in text.split(",") if word.strip(" ")]
    if set(words) - set(STATUSES):
        raise params.bad_param("status", f"one of {', '.join(STATUSES)}")
    return words or [PENDING]


def read_review_filter(
    status: Annotated[
        list[ReviewStatusText] | None, Query(description="One or several, with commas")
    ] = None,
    supplier: Annotated[str, Query(max_length=200, description="A part of the name")] = "",
    least: Annotated[params.NumberParam | None, Query(description="The least total")] = None,
    most: Annotated[params.NumberParam | None, Query(description="The largest total")] = None,
    sort: Annotated[ReviewSortText, Query(description="newest, where nothing is said")] = "newest",
) -> ReviewFilter:
    if sort not in SORTS:
        raise params.bad_param("sort", f"one of {', '.join(SORTS)}")
    return ReviewFilter(_parse_statuses(status or []), clean(supplier) or None, least, most, sort)


AskedReviews = Annotated[ReviewFilter, Depends(read_review_filter)]


@reviews_router.get(
    "",
    summary="What waits for review; with `status` what was decided",
    responses=problems.fault_responses("BAD_REQUEST", "UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def list_reviews(
    site: CurrentSite,
    owner: CurrentOwner,
    only: AskedReviews,
    cursor: CursorText = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ReviewList:
    after = params.parse_cursor(cursor) if cursor else None
    async with read_connection(site.pool) as conn:
        found = await queries.list_reviews(conn, owner.key, only, after=after, limit=limit + 1)
    page, more = params.cut_page(found, limit, lambda one: Cursor(one.created_at, one.job_id))
    return ReviewList(reviews=[_shape_review(each) for each in page], next_cursor=more)


@reviews_router.get(
    "/export",
    summary="Approved reviews as training samples, one JSON object a line, oldest first",
    response_class=Response,
    responses=problems.fault_responses("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")
    | {200: {"description": "The samples", "content": {"application/jsonl": {}}}},
)
async def export_reviews(site: CurrentSite, owner: CurrentOwner) -> Response:
    """Each line has what was read, what was approved, and the edits between."""
    headers = {"content-disposition": 'attachment; filename="reviews.jsonl"'}
    lines = reviews.stream_samples(site, owner)
    return StreamingResponse(lines, media_type="application/jsonl", headers=headers)


@reviews_router.get(
    "/touchless",
    summary="How many invoices were approved by rule, and the errors found in them later",
    responses=problems.fault_responses("UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def show_touchless(site: CurrentSite, owner: CurrentOwner) -> TouchlessAnswer:
    async with read_connection(site.pool) as conn:
        counts = await touchless.count_touchless(conn, owner.key)
        seen = await experience.read_experience(conn, owner.key, touchless.PIPELINE)
    return make_touchless_answer(counts, seen)


@reviews_router.post(
    "/calibrate",
    summary="Fit confidence to your own reviews now; it happens each night by itself",
    responses=problems.fault_responses("UNAUTHORIZED", "CROSS_SITE", "DATABASE_DOWN", "BUSY"),
)
async def calibrate_now(site: CurrentSite, owner: CurrentOwner) -> CalibrateAnswer:
    done = await touchless.calibrate_owner(site.pool, site.store, owner.key)
    return CalibrateAnswer.model_validate(done)


@reviews_router.get(
    "/{job_id}",
    summary="One review: the values as edited, what to look at, the XML, and its history",
    responses=problems.fault_responses(*OPEN_FAULTS),
)
async def one_review(job_id: str, site: CurrentSite, owner: CurrentOwner) -> ReviewDetail:
    review = await reviews.open_review(site, owner, job_id)
    found = await reviews.judge(review, review.data)
    return ReviewDetail(
        **_review_facts(review),
        **_judgement_facts(found),
        data=review.data,
        history=[_shape_revision(each) for each in review.history],
    )


@reviews_router.post(
    "/{job_id}/edits",
    summary="Change values, and put lines in or take them out; each is kept as a revision",
    openapi_extra=json_body.describe_body(
        Edits.model_json_schema(ref_template=json_body.SCHEMA_REF)
    ),
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def edit_review(
    job_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> ReviewDetail:
    """All or none. An edit of what was decided opens the review again."""
    wish = await json_body.read_json(request, Edits)
    review = await _open_as_seen(site, owner, job_id, wish)
    if found := edits.make_changes(review.data, wish.edits):
        await reviews.edit_review(site, owner, review, found)
    return await one_review(job_id, site, owner)


@reviews_router.post(
    "/{job_id}/checked",
    summary="Say that values are right as they are; they are no more to be looked at",
    openapi_extra=json_body.describe_body(CheckedPaths.model_json_schema()),
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def mark_checked(
    job_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> ReviewDetail:
    """Kept as revisions, until such a value is edited. Of what was decided nothing is changed."""
    wish = await json_body.read_json(request, CheckedPaths)
    review = await _open_as_seen(site, owner, job_id, wish)
    found = edits.make_checks(review.data, wish.paths)
    if found and review.head.status == PENDING:
        await reviews.edit_review(site, owner, review, found)
    return await one_review(job_id, site, owner)


@reviews_router.post(
    "/{job_id}/check",
    summary="What arithmetic and the mapping would say after these edits; nothing is kept",
    openapi_extra=json_body.describe_body(
        Trial.model_json_schema(ref_template=json_body.SCHEMA_REF)
    ),
    responses=problems.fault_responses(*OPEN_FAULTS, "BAD_REQUEST", "CROSS_SITE"),
)
async def check_review(
    job_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> CheckAnswer:
    wish = await json_body.read_json(request, Trial)
    review = await reviews.open_review(site, owner, job_id)
    found, wrong = edits.try_edits(review.data, wish.edits)
    judged = await reviews.judge(review, replay(review.data, found))
    return CheckAnswer(
        **_judgement_facts(judged),
        values={each.path: each.after for each in found},
        mistakes=list_mistakes(wish.edits, wrong),
    )


@reviews_router.post(
    "/{job_id}/approve",
    summary="Approve what you saw: the document made of it becomes the download",
    openapi_extra=json_body.describe_body(SeenRevision.model_json_schema()),
    responses=problems.fault_responses(*CHANGE_FAULTS, "GW_4XX"),
)
async def approve_review(
    job_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> Decision:
    """What was read before stays: `GET /api/jobs/{id}/download?original=true`."""
    review = await _open_as_seen(
        site, owner, job_id, await json_body.read_json(request, SeenRevision)
    )
    learned = await reviews.approve_review(site, owner, review)
    return Decision(
        **_review_facts(await reviews.open_review(site, owner, job_id)), learned=learned
    )


@reviews_router.post(
    "/{job_id}/reject",
    summary="Reject a result with a reason; the download stays as it is",
    openapi_extra=json_body.describe_body(Rejection.model_json_schema()),
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def reject_review(
    job_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> ReviewShape:
    wish = await json_body.read_json(request, Rejection)
    review = await _open_as_seen(site, owner, job_id, wish)
    await reviews.reject_review(site, owner, review, wish.read_reason())
    return ReviewShape(**_review_facts(await reviews.open_review(site, owner, job_id)))


async def _open_as_seen(
    site: CurrentSite, owner: CurrentOwner, job_id: str, seen: SeenRevision
) -> OpenReview:
    """The review, if nobody changed it since the asker looked."""
    review = await reviews.open_review(site, owner, job_id)
    if seen.revision != review.head.revision:
        async with read_connection(site.pool) as conn:
            raise await reviews.make_conflict(conn, review.job, seen.revision)
    return review


def _shape_review(each: ReviewRow) -> ReviewShape:
    return ReviewShape.model_validate({**asdict(each), "job_id": str(each.job_id)})


def _review_facts(review: OpenReview) -> dict[str, Any]:
    job = review.job
    return {
        "job_id": str(job.id),
        "filename": job.original_filename,
        "pipeline": job.pipeline,
        "mapping": job.mapping,
        "created_at": job.created_at,
        **asdict(review.head),
    }


def _judgement_facts(found: Judgement) -> dict[str, Any]:
    return {**asdict(found), "xml": found.xml.decode() if found.xml else None}


def _shape_revision(each: Revision) -> RevisionShape:
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


lessons_router = APIRouter(prefix="/api/lessons", tags=["reviews"])

LESSON_FAULTS: Final = ("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")


class LessonShape(BaseModel):
    id: str
    field: str = Field(examples=["invoice_number"])
    layout: str = Field(description="The layout it holds for, by its mark")
    supplier: str = Field(description="Whose documents look so")
    taught_by: str = Field(description="The document whose correction taught it")
    job_id: str | None
    created_at: Instant


class LessonList(BaseModel):
    learning: bool = Field(description="Off: nothing is learned, and nothing learned is used")
    lessons: list[LessonShape]


class Switch(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    learning: bool


class Forgotten(BaseModel):
    forgotten: int


@lessons_router.get(
    "", summary="What your corrections taught", responses=problems.fault_responses(*LESSON_FAULTS)
)
async def list_lessons(site: CurrentSite, owner: CurrentOwner) -> LessonList:
    async with read_connection(site.pool) as conn:
        learning = await queries.is_learning(conn, owner.key)
        found = await queries.list_lessons(conn, owner.key)
    return LessonList(learning=learning, lessons=[_shape_lesson(each) for each in found])


@lessons_router.put(
    "",
    summary="Switch learning on or off",
    openapi_extra=json_body.describe_body(Switch.model_json_schema()),
    responses=problems.fault_responses("BAD_REQUEST", "CROSS_SITE", *LESSON_FAULTS),
)
async def switch_learning(request: Request, site: CurrentSite, owner: CurrentOwner) -> LessonList:
    wish = await json_body.read_json(request, Switch)
    await write(site.pool, lambda conn: queries.switch_learning(conn, owner.key, on=wish.learning))
    return await list_lessons(site, owner)


@lessons_router.delete(
    "",
    summary="Forget all lessons",
    responses=problems.fault_responses("CROSS_SITE", *LESSON_FAULTS),
)
async def forget_lessons(site: CurrentSite, owner: CurrentOwner) -> Forgotten:
    count = await write(site.pool, lambda conn: queries.forget_lessons(conn, owner.key))
    return Forgotten(forgotten=count)


@lessons_router.delete(
    "/{lesson_id}",
    summary="Forget one lesson",
    responses=problems.fault_responses("CROSS_SITE", "LESSON_NOT_FOUND", *LESSON_FAULTS),
)
async def forget_lesson(lesson_id: str, site: CurrentSite, owner: CurrentOwner) -> Forgotten:
    try:
        known = UUID(lesson_id)
    except ValueError as exc:
        raise DocmillError("LESSON_NOT_FOUND") from exc
    count = await write(site.pool, lambda conn: queries.forget_lessons(conn, owner.key, known))
    if not count:
        raise DocmillError("LESSON_NOT_FOUND")
    return Forgotten(forgotten=count)


def _shape_lesson(each: LessonRow) -> LessonShape:
    return LessonShape(
        id=str(each.id),
        field=each.field,
        layout=each.layout,
        supplier=str(each.lesson.get("supplier", "")),
        taught_by=each.taught_by,
        job_id=str(each.job_id) if each.job_id else None,
        created_at=each.created_at,
    )
