"""Answers about what goes through without a person, the same for every room that promises."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from docmill.core.experience import sum_steps
from docmill.jobs.experience import Touchless


class StepShape(BaseModel):
    low: float = Field(description="Confidence from here on")
    values: int
    right: float = Field(description="The share that people left as it was read")


class TouchlessAnswer(BaseModel):
    documents: int = Field(description="Invoices, or trades, that can be reviewed")
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


def make_touchless_answer(counts: Touchless, experience: Mapping[str, Any]) -> TouchlessAnswer:
    steps = [
        StepShape(low=one.low, values=one.count, right=one.right) for one in sum_steps(experience)
    ]
    return TouchlessAnswer(
        documents=counts.documents,
        by_rule=counts.by_rule,
        touchless=round(counts.rate, 4),
        wrong_values=counts.wrong_values,
        wrong_documents=counts.wrong_documents,
        reliability=steps,
    )
