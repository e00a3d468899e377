"""What an owner prefers where a request says nothing, and when a person should look."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from psycopg.types.json import Jsonb

from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import Claimed
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.documents.accept import JobRequest

THRESHOLD: Final = "review_threshold"


@dataclass(frozen=True, slots=True)
class Preferences:
    """Empty, or None, where docmill decides as the operator has set it."""

    pipeline: str = ""
    mapping: str = ""
    review_threshold: float | None = None


PREFERENCE_NAMES: Final = tuple(each.name for each in fields(Preferences))


def parse_preferences(data: Mapping[str, Any]) -> Preferences:
    """From what the database keeps; what it does not know is left out."""
    return Preferences(**{name: data[name] for name in PREFERENCE_NAMES if name in data})


def find_mistakes(preferences: Preferences, catalog: PipelineCatalog) -> Iterator[tuple[str, str]]:
    """Names and what is wrong with them."""
    if preferences.pipeline and preferences.pipeline not in catalog.accepts:
        yield "pipeline", f"not one of {', '.join(sorted(catalog.accepts))}"
    known = sorted({name for names in catalog.mappings.values() for name in names})
    if preferences.mapping and preferences.mapping not in known:
        yield "mapping", f"not one of {', '.join(known)}"
    threshold = preferences.review_threshold
    if threshold is not None and not 0 <= threshold <= 1:
        yield THRESHOLD, "not a number from 0 to 1"


def apply_preferences(
    wanted: JobRequest, preferences: Preferences, catalog: PipelineCatalog, asked: str | None
) -> JobRequest:
    """With the owner's pipeline where none was asked for, and the owner's mapping if it fits.

    What an operator has taken away since is no preference any more.
    """
    if asked is None and preferences.pipeline in catalog.accepts:
        wanted = replace(wanted, pipeline=preferences.pipeline)
    if wanted.mapping is None and preferences.mapping in catalog.mappings.get(wanted.pipeline, ()):
        wanted = replace(wanted, mapping=preferences.mapping)
    return wanted


READ_PREFERENCES: Final = "SELECT preferences FROM owners WHERE owner = %s"


async def read_preferences(conn: Connection, owner: OwnerKey) -> Preferences:
    row = await (await conn.execute(READ_PREFERENCES, (owner,))).fetchone()
    return parse_preferences(row[0]) if row else Preferences()


SAVE_PREFERENCES: Final = """
INSERT INTO owners (owner, preferences) VALUES (%(owner)s, %(preferences)s)
ON CONFLICT (owner) DO UPDATE SET preferences = excluded.preferences
"""


async def save_preferences(conn: Connection, owner: OwnerKey, preferences: Preferences) -> None:
    """In place of the last ones; what says nothing is not kept."""
    values = {name: getattr(preferences, name) for name in PREFERENCE_NAMES}
    kept = {name: value for name, value in values.items() if value not in ("", None)}
    await conn.execute(SAVE_PREFERENCES, {"owner": owner, "preferences": Jsonb(kept)})


async def read_run_options(conn: Connection, job: Claimed) -> dict[str, Any]:
    """What a run is told of them: how sure a value must be."""
    threshold = (await read_preferences(conn, job.owner)).review_threshold
    return {} if threshold is None else {THRESHOLD: threshold}
