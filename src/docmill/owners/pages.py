"""The page /settings: plain forms, one for each section, which need no script."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from docmill.accounts.keys import list_keys
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.core.owners import Owner
from docmill.core.reliability import draw_reliability
from docmill.core.scoring import Step
from docmill.core.texts import clean_text
from docmill.invoices import api as invoices_api
from docmill.invoices import formats
from docmill.jobs.experience_shapes import TouchlessAnswer
from docmill.owners import fields, settings
from docmill.owners.fields import FIELDS, SettingField, SettingKind
from docmill.trades import api as trades_api
from docmill.web import json_body, render
from docmill.web.site import CurrentOwner, CurrentSite, Site

router = APIRouter(include_in_schema=False)

# Where a person may have come from to set what was missing.
BACK: Final = re.compile(r"/(?:review|jobs)/[0-9a-f-]{36}")
LONGEST_GIVEN: Final = 40
AUTO: Final = "auto"
AUTO_LABEL: Final = "Automatic: Coretax for rupiah, UBL for others"
PIPELINE_LABELS: Final = {
    "auto": "Automatic, by what is in it",
    "invoice": "Invoices",
    "trades": "Trade notes",
    "extract": "Any document: fields, tables, passages",
    "study": "Texts to learn from",
}


@dataclass(frozen=True, slots=True)
class RateRow:
    """One rate as the page lists it; an empty day stands for every day."""

    currency: str
    day: str
    rupiah: str


@dataclass(frozen=True, slots=True)
class SentForm:
    """What a person sent: a section's values, and where they came from."""

    section: str
    values: Mapping[str, str]
    back: str

    @property
    def changes(self) -> dict[str, Any]:
        """As the API would be told; an empty field takes its value away."""
        if self.section == fields.RATES:
            return self._rate_changes()
        return {
            one.name: _read_value(one, self.values[one.name])
            for one in FIELDS
            if one.section == self.section and one.name in self.values
        }

    def _rate_changes(self) -> dict[str, Any]:
        currency, _, day = self.values.get("remove", "").partition(" ")
        rupiah: str | None = None
        if not currency:
            currency, day = self.values.get("currency", ""), self.values.get("day", "")
            rupiah = self.values.get("rupiah", "").replace(" ", "")
        currency = currency.upper()
        return {"daily_rates": {currency: {day: rupiah}}} if day else {"rates": {currency: rupiah}}


def _read_value(field: SettingField, text: str) -> str | float | None:
    if not text:
        return None
    if field.kind is not SettingKind.PERCENT:
        return text
    number = text.removesuffix("%").strip().replace(",", ".")
    # What is no number is out of range, and told as such.
    return float(number) / 100 if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", number) else -1.0


def _read_back(given: str) -> str:
    return given if BACK.fullmatch(given) else ""


@router.get("/settings")
async def settings_page(
    site: CurrentSite,
    owner: CurrentOwner,
    saved: str = "",
    back: str = "",
    currency: Annotated[str, Query(max_length=LONGEST_GIVEN)] = "",
    day: Annotated[str, Query(max_length=LONGEST_GIVEN)] = "",
) -> Response:
    """`currency` and `day` fill in the rate that somebody was told is missing."""
    values = await _load(site, owner)
    given = {"currency": currency, "day": day}
    promises = {
        "invoice": await invoices_api.show_touchless(site, owner),
        "trade": await trades_api.show_trades_touchless(site, owner),
    }
    form = SentForm("", given, _read_back(back))
    return _render(site, values, form, saved=saved, promises=promises)


@router.post("/settings")
async def save_settings(request: Request, site: CurrentSite, owner: CurrentOwner) -> Response:
    form = await _read_form(request)
    try:
        await settings.change_settings(site, owner, form.changes)
    except DocmillError as exc:
        if exc.fault.code != "BAD_REQUEST":
            raise
        values = await _load(site, owner)
        mistakes: list[dict[str, str]] = exc.facts["mistakes"]  # pyright: ignore[reportAssignmentType]
        return _render(site, values, form, mistakes=mistakes)
    told = {"saved": form.section} | ({"back": form.back} if form.back else {})
    return RedirectResponse(f"/settings?{urlencode(told)}#{form.section}", status_code=303)


async def _load(site: Site, owner: Owner) -> dict[str, Any]:
    """All that the page shows: what is set, and the keys."""
    return {**await settings.read_settings(site, owner), "keys": await list_keys(site, owner)}


async def _read_form(request: Request) -> SentForm:
    body = (await json_body.read_limited(request)).decode("utf-8", "replace")
    given = {
        name: clean_text(text).strip() for name, text in parse_qsl(body, keep_blank_values=True)
    }
    section = given.get("section", "")
    known = {one.section for one in FIELDS}
    back = _read_back(given.get("back", ""))
    return SentForm(section if section in known else fields.DEFAULTS, given, back)


def _render(
    site: Site,
    values: Mapping[str, Any],
    form: SentForm,
    *,
    saved: str = "",
    mistakes: Sequence[Mapping[str, str]] = (),
    promises: Mapping[str, TouchlessAnswer] | None = None,
) -> Response:
    """With what was sent where it can't be kept, and why; else with what is kept."""
    wrong = {_field_of(one["at"]): one["message"] for one in mistakes}
    shown = {name: _write_value(value) for name, value in values.items()}
    return render.render_page(
        "settings.html",
        status=400 if wrong else 200,
        fields=FIELDS,
        values={**shown, **form.values},
        rates=_list_rates(values),
        choices=_list_choices(site.catalog, values),
        wrong=wrong,
        sent=form.section,
        saved=saved,
        back=form.back,
        promises={
            noun: (promise, _draw_diagram(promise)) for noun, promise in (promises or {}).items()
        },
    )


def _draw_diagram(promise: TouchlessAnswer) -> str:
    """A step is drawn in the middle between its own confidence and the next."""
    lows = [*(one.low for one in promise.reliability), 1.0]
    return draw_reliability(
        [
            Step(one.low, one.values, (one.low + above) / 2, one.right)
            for one, above in zip(promise.reliability, lows[1:], strict=True)
        ]
    )


def _field_of(place: str) -> str:
    """The part of the form that a mistake is shown at."""
    name = place.removeprefix("body.").partition(".")[0]
    return "rupiah" if name in ("rates", "daily_rates") else name


def _write_value(value: Any) -> Any:
    if value is None:
        return ""
    return f"{value * 100:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def _list_rates(values: Mapping[str, Any]) -> list[RateRow]:
    """By currency; the newest day first, and the one of every day last."""
    rows = [
        RateRow(currency, day, rupiah)
        for currency, days in values["daily_rates"].items()
        for day, rupiah in days.items()
    ]
    rows += [RateRow(currency, "", rupiah) for currency, rupiah in values["rates"].items()]
    rows.sort(key=lambda row: row.day, reverse=True)
    return sorted(rows, key=lambda row: row.currency)


def _list_choices(
    catalog: PipelineCatalog, values: Mapping[str, Any]
) -> dict[str, Sequence[tuple[str, str]]]:
    """By field; what is set and no longer offered stays in the list, so that it can be seen."""
    mappings = {name for names in catalog.mappings.values() for name in names}
    found: dict[str, Sequence[tuple[str, str]]] = {
        "pipeline": [(name, PIPELINE_LABELS.get(name, name)) for name in sorted(catalog.accepts)],
        "mapping": [(name, _label_mapping(name)) for name in sorted(mappings)],
    }
    for name, offered in found.items():
        if values[name] and values[name] not in dict(offered):
            found[name] = [*offered, (values[name], f"{values[name]} (no longer offered)")]
    return {**{one.name: one.choices for one in FIELDS if one.choices}, **found}


def _label_mapping(name: str) -> str:
    if name == AUTO:
        return AUTO_LABEL
    return formats.load(name).title if name in formats.list_names() else name
