"""How much goes through without a person, what was wrong in it, and confidence fitted anew."""

from fastapi import APIRouter

from docmill.db.pool import read_connection
from docmill.invoices import calibrate, touchless
from docmill.jobs import experience
from docmill.jobs.experience_shapes import (
    CalibrateAnswer,
    TouchlessAnswer,
    make_touchless_answer,
)
from docmill.web import problems
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(prefix="/api/reviews", tags=["reviews"])


@router.get(
    "/touchless",
    summary="How many invoices were approved by rule, and the errors found in them later",
    responses=problems.fault_responses("UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def show_touchless(site: CurrentSite, owner: CurrentOwner) -> TouchlessAnswer:
    async with read_connection(site.pool) as conn:
        counts = await touchless.count_touchless(conn, owner.key)
        seen = await experience.read_experience(conn, owner.key, touchless.PIPELINE)
    return make_touchless_answer(counts, seen)


@router.post(
    "/calibrate",
    summary="Fit confidence to your own reviews now; it happens each night by itself",
    responses=problems.fault_responses("UNAUTHORIZED", "CROSS_SITE", "DATABASE_DOWN", "BUSY"),
)
async def calibrate_now(site: CurrentSite, owner: CurrentOwner) -> CalibrateAnswer:
    done = await calibrate.calibrate_owner(site.pool, site.store, owner.key)
    return CalibrateAnswer.model_validate(done)
