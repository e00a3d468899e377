"""How much goes through without a person, what was wrong in it, and confidence fitted anew."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from docmill.core.scoring import Step
from docmill.db.pool import read_connection
from docmill.invoices import calibrate, touchless
from docmill.invoices.experience import STEPS
from docmill.web import problems
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(prefix="/api/reviews", tags=["reviews"])


class StepShape(BaseModel):
    low: float = Field(description="Confidence from here on")
    values: int
    right: float = Field(description="The share that people left as it was read")


class TouchlessAnswer(BaseModel):
    documents: int = Field(description="Invoices that can be reviewed")
    by_rule: int = Field(description="Of those, approved by rule and so by nobody")
    touchless: float = Field(description="Their share")
    wrong_values: int = Field(description="Values that people changed after the rule approved them")
    wrong_documents: int
    reliability: list[StepShape] = Field(description="Of your reviews; empty before `calibrate`")


class CalibrateAnswer(BaseModel):
    reviews: int = Field(description="Approved by people, with what was read still there")
    values: int
    enough: int = Field(description="So many reviews are needed")
    kept: bool = Field(description="Whether new documents are judged by them")


@router.get(
    "/touchless",
    summary="How many invoices were approved by rule, and the errors found in them later",
    responses=problems.fault_responses("UNAUTHORIZED", "DATABASE_DOWN", "BUSY"),
)
async def show_touchless(site: CurrentSite, owner: CurrentOwner) -> TouchlessAnswer:
    async with read_connection(site.pool) as conn:
        counts = await touchless.count_touchless(conn, owner.key)
        seen = await touchless.read_experience(conn, owner.key)
    steps = [StepShape(low=one.low, values=one.count, right=one.right) for one in sum_steps(seen)]
    return TouchlessAnswer(
        documents=counts.documents,
        by_rule=counts.by_rule,
        touchless=round(counts.rate, 4),
        wrong_values=counts.wrong_values,
        wrong_documents=counts.wrong_documents,
        reliability=steps,
    )


@router.post(
    "/calibrate",
    summary="Fit confidence to your own reviews now; it happens each night by itself",
    responses=problems.fault_responses("UNAUTHORIZED", "CROSS_SITE", "DATABASE_DOWN", "BUSY"),
)
async def calibrate_now(site: CurrentSite, owner: CurrentOwner) -> CalibrateAnswer:
    done = await calibrate.calibrate_owner(site.pool, site.store, owner.key)
    return CalibrateAnswer.model_validate(done)


def sum_steps(counts: dict[str, Any]) -> list[Step]:
    """All fields together: of values so sure, how many stayed."""
    found: list[Step] = []
    for low, high in zip(STEPS, (*STEPS[1:], 1.0), strict=True):
        inside = [steps[f"{low:g}"] for steps in counts.values() if f"{low:g}" in steps]
        count = sum(each[1] for each in inside)
        if count:
            found.append(Step(low, count, (low + high) / 2, sum(one[0] for one in inside) / count))
    return found
