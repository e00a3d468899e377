"""Mappings given to some owners first: assigned, taken back, and the record of both."""

from typing import Annotated, ClassVar, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.requests import Request

from docmill.core.faults import DocmillError
from docmill.core.texts import clean_text
from docmill.db.pool import Connection, read_connection, write
from docmill.documents import assignments
from docmill.documents.assignments import Assignment
from docmill.invoices.pipeline import pipeline
from docmill.web import auth, json_body, problems
from docmill.web.params import Instant
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(prefix="/api/mappings", tags=["mappings"])

OWNER: Final = r"^(user|session|desk|local):\S+$"
FAULTS: Final = problems.fault_responses(
    "BAD_REQUEST", "UNAUTHORIZED", "FORBIDDEN", "UNKNOWN_MAPPING", "CROSS_SITE", "DATABASE_DOWN",
    "BUSY",
)  # fmt: skip


class AssignmentRequest(BaseModel):
    """To one owner, or to a share of all of them."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", title="Assignment", json_schema_extra={"examples": [{"percent": 10}]}
    )

    owner: Annotated[str, Field(pattern=OWNER, max_length=200)] | None = None
    percent: Annotated[json_body.WholeNumber, Field(ge=1, le=100)] | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "AssignmentRequest":
        if (self.owner is None) == (self.percent is None):
            raise ValueError("give owner or percent, and not both")
        return self


class AssignmentModel(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(from_attributes=True)

    mapping: str
    owner: str | None
    percent: int | None = Field(description="Per cent of all owners; always the same ones")
    assigned_at: Instant
    assigned_by: str
    revoked_at: Instant | None
    revoked_by: str | None


class AssignmentList(BaseModel):
    assignments: list[AssignmentModel] = Field(description="The newest first, revoked ones as well")


@router.get(
    "/assignments",
    summary="Which mappings were given to whom, and taken back; for administrators",
    responses=problems.fault_responses("UNAUTHORIZED", "FORBIDDEN", "DATABASE_DOWN", "BUSY"),
)
async def list_assignments(site: CurrentSite, owner: CurrentOwner) -> AssignmentList:
    auth.check_admin(owner)
    async with read_connection(site.pool) as conn:
        return _shape_list(await assignments.list_assignments(conn))


@router.post(
    "/{name}/assignments",
    summary="Give a mapping to an owner, or to a share of all; for administrators",
    openapi_extra=json_body.describe_body(AssignmentRequest.model_json_schema()),
    responses=FAULTS,
)
async def assign_mapping(
    name: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> AssignmentList:
    """It is what they get who ask for none. Jobs that are there already keep theirs."""
    auth.check_admin(owner)
    _require_mapping(site, name)
    wish = await json_body.read_json(request, AssignmentRequest)

    async def change(conn: Connection) -> AssignmentList:
        await assignments.assign(conn, name, owner=wish.owner, percent=wish.percent, by=owner.key)
        return _shape_list(await assignments.list_assignments(conn))

    return await write(site.pool, change)


@router.delete(
    "/{name}/assignments",
    summary="Take a mapping back from all who were given it; for administrators",
    responses=FAULTS,
)
async def revoke_mapping(name: str, site: CurrentSite, owner: CurrentOwner) -> AssignmentList:
    """They get the default again. It can still be asked for by name."""
    auth.check_admin(owner)
    _require_mapping(site, name)

    async def change(conn: Connection) -> AssignmentList:
        await assignments.revoke(conn, name, owner.key)
        return _shape_list(await assignments.list_assignments(conn))

    return await write(site.pool, change)


def _require_mapping(site: Site, name: str) -> None:
    known = site.catalog.mappings.get(pipeline.name, ())
    if name not in known:
        raise DocmillError("UNKNOWN_MAPPING", mapping=clean_text(name)[:64], known=list(known))


def _shape_list(rows: list[Assignment]) -> AssignmentList:
    return AssignmentList(assignments=[AssignmentModel.model_validate(row) for row in rows])
