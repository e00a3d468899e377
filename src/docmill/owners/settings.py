"""An owner's settings as one thing: read, changed in part, checked whole, and kept."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from docmill.core.faults import DocmillError
from docmill.core.json_values import as_object, is_object
from docmill.core.owners import Owner
from docmill.db.pool import Connection, read_connection, write
from docmill.documents import queries
from docmill.invoices import profile as invoices_profile
from docmill.invoices.profile import PROFILE_NAMES, Profile, parse_profile
from docmill.jobs import preferences as jobs_preferences
from docmill.jobs.preferences import PREFERENCE_NAMES, Preferences
from docmill.owners.fields import BY_NAME
from docmill.web.site import Site

Values = dict[str, Any]


async def read_settings(site: Site, owner: Owner) -> Values:
    """All of them; empty where the owner has said nothing."""
    async with read_connection(site.pool) as conn:
        return await _load(conn, owner)


async def _load(conn: Connection, owner: Owner) -> Values:
    profile = parse_profile(await queries.read_profile(conn, owner.key))
    preferences = await jobs_preferences.read_preferences(conn, owner.key)
    return _join(profile, preferences)


def _join(profile: Profile, preferences: Preferences) -> Values:
    values = asdict(profile) | asdict(preferences)
    return {name: values[name] for name in BY_NAME}


async def change_settings(site: Site, owner: Owner, changes: Mapping[str, Any]) -> Values:
    """What is not named stays; null takes a value away. All of it, or BAD_REQUEST and nothing."""

    async def keep(conn: Connection) -> Values:
        wanted = merge_changes(await _load(conn, owner), changes)
        profile, preferences = _split(wanted)
        _check(site, profile, preferences)
        told = {name: value for name, value in asdict(profile).items() if value}
        await queries.save_profile(conn, owner.key, told)
        await jobs_preferences.save_preferences(conn, owner.key, preferences)
        return _join(profile, preferences)

    return await write(site.pool, keep)


def merge_changes(values: Mapping[str, Any], changes: Mapping[str, Any]) -> Values:
    """A JSON merge patch (RFC 7396)."""
    merged = dict(values)
    for name, change in changes.items():
        if change is None:
            merged.pop(name, None)
        elif is_object(change):
            merged[name] = merge_changes(as_object(merged.get(name)), change)
        else:
            merged[name] = change
    return merged


def _split(values: Mapping[str, Any]) -> tuple[Profile, Preferences]:
    own = {name: values[name] for name in PROFILE_NAMES if name in values}
    preferred = {name: values[name] for name in PREFERENCE_NAMES if name in values}
    return parse_profile(own), jobs_preferences.parse_preferences(preferred)


def _check(site: Site, profile: Profile, preferences: Preferences) -> None:
    found = [
        *invoices_profile.find_mistakes(profile),
        *jobs_preferences.find_mistakes(preferences, site.catalog),
    ]
    if found:
        mistakes = [{"at": f"body.{name}", "message": message} for name, message in found]
        raise DocmillError("BAD_REQUEST", mistakes=mistakes)
