"""The watched bucket, as it was last counted against the database."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from docmill.db import bucket_counts
from docmill.db.pool import reading
from docmill.web import problems
from docmill.web.deps import Asker, Here

router = APIRouter(prefix="/api", tags=["bucket"])


class Prefix(BaseModel):
    """objects = done + failed + waiting + unknown."""

    prefix: str = Field(examples=["incoming", "processing", "archive", "failed"])
    objects: int
    done: int
    failed: int
    waiting: int
    unknown: int = Field(description="In the bucket and in no row; should be 0")
    missing: int = Field(description="In a row and not in the bucket; should be 0")
    counted_at: datetime | None


class BucketAnswer(BaseModel):
    prefixes: list[Prefix] = Field(description="Empty until a poller has counted")


@router.get(
    "/bucket",
    summary="How the bucket adds up, as last counted",
    responses=problems.documented("UNAUTHORIZED", "FORBIDDEN", "DATABASE_DOWN", "BUSY"),
)
async def show_bucket(here: Here, owner: Asker) -> BucketAnswer:
    """Counted once a day by the pollers, at once by `docmill reconcile` and on the bucket page."""
    here.watched.check(owner)
    async with reading(here.services.pool) as conn:
        counts = await bucket_counts.last(conn)
    return BucketAnswer(
        prefixes=[Prefix.model_validate(count, from_attributes=True) for count in counts]
    )
