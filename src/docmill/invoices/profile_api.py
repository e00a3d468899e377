"""The owner's profile: what the mappings know of who invoices."""

from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import ConfigDict, Field, create_model
from starlette.requests import Request

from docmill.core.faults import DocmillError
from docmill.db.pool import read_connection, write
from docmill.documents import queries as documents_queries
from docmill.invoices.profile import (
    LONGEST_TEXT,
    OPTS,
    PROFILE_NAMES,
    TRX_CODES,
    Profile,
    find_mistakes,
    parse_profile,
)
from docmill.web import json_body, problems
from docmill.web.params import bad_param
from docmill.web.site import CurrentOwner, CurrentSite

profile_router = APIRouter(prefix="/api/profile", tags=["profile"])

# Between these a number of JSON is written without an exponent, and means the same to the mappings.
LEAST_RUPIAH: Final = 0.01
MOST_RUPIAH: Final = 10**15
PROFILE_FAULTS: Final = ("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")


ProfileText = Annotated[str, Field(max_length=LONGEST_TEXT)]
Rate = (
    ProfileText
    | Annotated[int, Field(ge=1, le=MOST_RUPIAH)]
    | Annotated[float, Field(ge=LEAST_RUPIAH, le=MOST_RUPIAH)]
)
CHOICES: Final = {"trx_code": TRX_CODES, "opt": OPTS}


_PROFILE_FIELDS: Final[dict[str, Any]] = dict.fromkeys(PROFILE_NAMES, (ProfileText, "")) | {
    "rates": (dict[str, Rate], {}),
    "daily_rates": (dict[str, dict[str, Rate]], {}),
}
# Names that mean nothing are let through here: the mappings refuse them all at once.
ProfileBody = create_model("Profile", __config__=ConfigDict(extra="allow"), **_PROFILE_FIELDS)


def _profile_schema() -> dict[str, Any]:
    schema: dict[str, Any] = ProfileBody.model_json_schema() | {"additionalProperties": False}
    for name, codes in CHOICES.items():
        schema["properties"][name]["enum"] = ["", *codes]
    by_day = schema["properties"]["daily_rates"]
    for each in (schema["properties"]["rates"], by_day):
        each["propertyNames"] = {"pattern": "^[A-Za-z]{3}$"}
    by_day["additionalProperties"]["propertyNames"] = {"format": "date"}
    return schema


@profile_router.get(
    "",
    summary="What the mappings know of the owner",
    responses=problems.fault_responses(*PROFILE_FAULTS),
)
async def show_profile(site: CurrentSite, owner: CurrentOwner) -> Profile:
    """Empty texts mean that nothing is known; nothing is made up."""
    async with read_connection(site.pool) as conn:
        return parse_profile(await documents_queries.read_profile(conn, owner.key))


@profile_router.put(
    "",
    summary="Tell the mappings about the owner, in place of what was told before",
    openapi_extra=json_body.describe_body(_profile_schema()),
    responses=problems.fault_responses("BAD_REQUEST", "CROSS_SITE", *PROFILE_FAULTS),
)
async def tell_profile(request: Request, site: CurrentSite, owner: CurrentOwner) -> Profile:
    """New jobs take it with them; jobs that are there already keep what they were given."""
    profile = _check_profile(
        (await json_body.read_json(request, ProfileBody)).model_dump(exclude_unset=True)
    )
    kept = {name: value for name, value in asdict(profile).items() if value}
    await write(site.pool, lambda conn: documents_queries.save_profile(conn, owner.key, kept))
    return profile


def _check_profile(given: dict[str, Any]) -> Profile:
    try:
        profile = parse_profile(given)
    except ValueError as exc:
        raise bad_param("body", str(exc)) from exc
    if found := find_mistakes(profile):
        mistakes = [{"at": f"body.{name}", "message": message} for name, message in found]
        raise DocmillError("BAD_REQUEST", mistakes=mistakes)
    return profile
