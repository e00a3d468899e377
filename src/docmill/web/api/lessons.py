"""Lessons: what corrections taught, shown, forgotten, and the switch that turns learning off."""

from typing import ClassVar, Final
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from docmill.core.faults import Faulted
from docmill.db import lessons
from docmill.db.lessons import Lesson
from docmill.db.pool import connection, reading
from docmill.web import bodies, problems
from docmill.web.deps import Asker, Here
from docmill.web.shapes import Instant

router = APIRouter(prefix="/api/lessons", tags=["reviews"])

TROUBLES: Final = ("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")


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


@router.get("", summary="What your corrections taught", responses=problems.documented(*TROUBLES))
async def list_lessons(here: Here, owner: Asker) -> LessonList:
    async with reading(here.services.pool) as conn:
        learning = await lessons.is_learning(conn, owner.key)
        found = await lessons.of_owner(conn, owner.key)
    return LessonList(learning=learning, lessons=[_shape(each) for each in found])


@router.put(
    "",
    summary="Switch learning on or off",
    openapi_extra=bodies.documented(Switch.model_json_schema()),
    responses=problems.documented("BAD_REQUEST", "CROSS_SITE", *TROUBLES),
)
async def switch_learning(request: Request, here: Here, owner: Asker) -> LessonList:
    wish = await bodies.read(request, Switch)
    async with connection(here.services.pool) as conn:
        await lessons.switch(conn, owner.key, on=wish.learning)
    return await list_lessons(here, owner)


@router.delete(
    "", summary="Forget all lessons", responses=problems.documented("CROSS_SITE", *TROUBLES)
)
async def forget_lessons(here: Here, owner: Asker) -> Forgotten:
    async with connection(here.services.pool) as conn:
        return Forgotten(forgotten=await lessons.forget(conn, owner.key))


@router.delete(
    "/{lesson_id}",
    summary="Forget one lesson",
    responses=problems.documented("CROSS_SITE", "LESSON_NOT_FOUND", *TROUBLES),
)
async def forget_lesson(lesson_id: str, here: Here, owner: Asker) -> Forgotten:
    try:
        known = UUID(lesson_id)
    except ValueError as exc:
        raise Faulted("LESSON_NOT_FOUND") from exc
    async with connection(here.services.pool) as conn:
        count = await lessons.forget(conn, owner.key, known)
    if not count:
        raise Faulted("LESSON_NOT_FOUND")
    return Forgotten(forgotten=count)


def _shape(each: Lesson) -> LessonShape:
    return LessonShape(
        id=str(each.id),
        field=each.field,
        layout=each.layout,
        supplier=str(each.lesson.get("supplier", "")),
        taught_by=each.taught_by,
        job_id=str(each.job_id) if each.job_id else None,
        created_at=each.created_at,
    )
