"""Settings with parts of their own: periods of a pipeline, the breaker of a service, prices."""

from typing import Literal

from pydantic import BaseModel, Field


class RetentionRule(BaseModel, frozen=True, extra="forbid"):
    """How long one pipeline's documents are kept; null is for good, left out is as for all."""

    uploads_days: float | None = Field(None, gt=0)
    results_days: float | None = Field(None, gt=0)


class BreakerRule(BaseModel, frozen=True, extra="forbid"):
    """When the circuit of one service opens, and for how long; left out is as for all."""

    window_seconds: float | None = Field(None, gt=0)
    share: float | None = Field(None, gt=0, le=1)
    fewest: int | None = Field(None, ge=1)
    cool_down_seconds: float | None = Field(None, gt=0)


PriceName = Literal["cpu_hour", "page", "gigabyte", "call"]
