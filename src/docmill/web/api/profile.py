"""The owner's profile: the seller's identity and defaults, for what documents do not print."""

from dataclasses import asdict
from typing import Any, Final

from fastapi import APIRouter
from pydantic import RootModel, TypeAdapter
from starlette.requests import Request

from docmill.core.faults import Faulted
from docmill.core.owners import Owner
from docmill.db import owners
from docmill.db.pool import connection, reading
from docmill.mappings import Profile, profile_mistakes, profile_of
from docmill.web import bodies, problems
from docmill.web.asking import refuse
from docmill.web.deps import Asker, Here, Site

router = APIRouter(prefix="/api/profile", tags=["profile"])

SCHEMA: Final = TypeAdapter(Profile).json_schema()
TROUBLES: Final = ("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")


class Told(RootModel[dict[str, Any]]):
    """An object; which names it may have is the mappings' affair."""


@router.get(
    "",
    summary="What the mappings know of the owner",
    responses=problems.documented(*TROUBLES),
)
async def show_profile(here: Here, owner: Asker) -> Profile:
    """Empty texts mean that nothing is known; nothing is made up."""
    return await of_owner(here, owner)


@router.put(
    "",
    summary="Tell the mappings about the owner, in place of what was told before",
    openapi_extra=bodies.documented(SCHEMA),
    responses=problems.documented("BAD_REQUEST", "CROSS_SITE", *TROUBLES),
)
async def tell_profile(request: Request, here: Here, owner: Asker) -> Profile:
    """New jobs take it with them; jobs that are there already keep what they were given."""
    profile = _checked((await bodies.read(request, Told)).root)
    kept = {name: value for name, value in asdict(profile).items() if value}
    async with connection(here.services.pool) as conn:
        await owners.tell(conn, owner.key, kept)
    return profile


async def of_owner(here: Site, owner: Owner) -> Profile:
    async with reading(here.services.pool) as conn:
        return profile_of(await owners.profile(conn, owner.key))


def _checked(told: dict[str, Any]) -> Profile:
    try:
        profile = profile_of(told)
    except ValueError as exc:
        raise refuse("body", str(exc)) from exc
    if found := profile_mistakes(profile):
        mistakes = [{"at": f"body.{name}", "message": message} for name, message in found]
        raise Faulted("BAD_REQUEST", mistakes=mistakes)
    return profile
