"""GET and PATCH /api/settings: what the owner has set, and a change of some of it."""

from typing import Annotated, Any, ClassVar, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from docmill.invoices.profile_api import CHOICES, ProfileText, Rate
from docmill.owners import settings
from docmill.owners.fields import BY_NAME
from docmill.web import json_body, problems
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(prefix="/api/settings", tags=["settings"])

SETTINGS_FAULTS: Final = ("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")
CURRENCY: Final = "^[A-Za-z]{3}$"
Threshold = Annotated[float, Field(ge=0, le=1)]


class OwnerSettings(BaseModel):
    """What an owner has set; empty texts and null mean that nothing was said."""

    name: str
    other_names: str
    tin: str
    idtku: str
    country: str
    payment_terms: str
    trx_code: str
    opt: str
    add_info: str
    facility_stamp: str
    rates: dict[str, str]
    daily_rates: dict[str, dict[str, str]]
    pipeline: str
    mapping: str
    review_threshold: float | None


class SettingsChange(BaseModel):
    """Only what is to change; null takes a value away."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: ProfileText | None = None
    other_names: ProfileText | None = None
    tin: ProfileText | None = None
    idtku: ProfileText | None = None
    country: ProfileText | None = None
    payment_terms: ProfileText | None = None
    trx_code: ProfileText | None = None
    opt: ProfileText | None = None
    add_info: ProfileText | None = None
    facility_stamp: ProfileText | None = None
    rates: dict[str, Rate | None] | None = None
    daily_rates: dict[str, dict[str, Rate | None] | None] | None = None
    pipeline: ProfileText | None = None
    mapping: ProfileText | None = None
    review_threshold: Threshold | None = None


def _change_schema() -> dict[str, Any]:
    schema: dict[str, Any] = SettingsChange.model_json_schema()
    known: dict[str, Any] = schema["properties"]
    for name, setting in BY_NAME.items():
        known[name]["description"] = f"{setting.label}. {setting.hint}"
    for name, codes in CHOICES.items():
        known[name]["anyOf"][0] = {"enum": ["", *codes]}
    for name in ("rates", "daily_rates"):
        known[name]["anyOf"][0]["propertyNames"] = {"pattern": CURRENCY}
    days = known["daily_rates"]["anyOf"][0]["additionalProperties"]["anyOf"][0]
    days["propertyNames"] = {"format": "date"}
    schema["examples"] = [
        {"tin": "01.234.567.8-901.000", "daily_rates": {"USD": {"2025-03-14": "16250"}}}
    ]
    return schema


@router.get("", summary="What you have set", responses=problems.fault_responses(*SETTINGS_FAULTS))
async def show_settings(site: CurrentSite, owner: CurrentOwner) -> OwnerSettings:
    return OwnerSettings(**await settings.read_settings(site, owner))


@router.patch(
    "",
    summary="Change some of your settings; what is not named stays",
    openapi_extra=json_body.describe_body(_change_schema()),
    responses=problems.fault_responses("BAD_REQUEST", "CROSS_SITE", *SETTINGS_FAULTS),
)
async def change_settings(
    request: Request, site: CurrentSite, owner: CurrentOwner
) -> OwnerSettings:
    """A JSON merge patch: null takes a value away. Jobs sent from now on go by it.

    What a job took along when it came stays; a rate that was missing then is taken from here.
    """
    wish = await json_body.read_json(request, SettingsChange)
    changes = wish.model_dump(exclude_unset=True)
    return OwnerSettings(**await settings.change_settings(site, owner, changes))
