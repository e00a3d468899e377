"""An operator's own mappings: read from a folder, kept in the database, known to every process."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psycopg.rows import class_row

from docmill.core.faults import CommandError
from docmill.db.pool import Connection, Pool, connection
from docmill.invoices import formats
from docmill.invoices.formats.language import MAPPING_TEXT, SUFFIX, MappingError


class BadMappingsError(CommandError):
    """Files that can't be used: what is wrong with each, line by line."""


@dataclass(frozen=True, slots=True)
class MappingText:
    name: str
    title: str
    text: str


def read_folder(folder: Path) -> list[MappingText]:
    """Every mapping file of a folder, all of them right; none is skipped."""
    if not folder.is_dir():
        raise BadMappingsError(
            f"DOCMILL_MAPPINGS_DIR names {folder}, which is no folder.\n"
            f"Make it, and put files called NAME_v1{SUFFIX} into it."
        )
    found: list[MappingText] = []
    troubles: list[str] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            mapping = formats.load_file(path)
            found.append(MappingText(mapping.name, mapping.title, path.read_text("utf-8")))
        except MappingError as exc:
            troubles += map(str, exc.troubles)
        except OSError as exc:
            troubles.append(f"{path.name}: can't be read: {exc.strerror}")
    troubles += _find_taken(found)
    if troubles:
        raise BadMappingsError(
            "\n".join(troubles) + "\nMend these in DOCMILL_MAPPINGS_DIR; `docmill mapping check` "
            "says when a file is right."
        )
    return found


def _find_taken(found: Sequence[MappingText]) -> list[str]:
    taken = {one.name for one in found} & set(formats.list_built_in())
    return [
        f"{name}{SUFFIX}: docmill has a mapping of this name; give it another" for name in taken
    ]


def register_folder(folder: Path) -> None:
    """For a command that has no database: the folder's mappings can be named from now on."""
    for one in read_folder(folder):
        formats.register(one.text, f"{one.name}{SUFFIX}")


KEEP: Final = """
INSERT INTO mappings AS m (name, title, text) VALUES (%(name)s, %(title)s, %(text)s)
ON CONFLICT (name) DO UPDATE SET title = m.title WHERE m.text = excluded.text
RETURNING name
"""
LIST: Final = "SELECT name, title, text FROM mappings ORDER BY name"


async def keep_mappings(conn: Connection, found: Sequence[MappingText]) -> None:
    """A name stands for one text for good: results that were written by it can be made again."""
    for one in found:
        args = {"name": one.name, "title": one.title, "text": one.text}
        if await (await conn.execute(KEEP, args)).fetchone() is None:
            stem, _, version = one.name.rpartition("_v")
            raise BadMappingsError(
                f"{one.name}{SUFFIX} was changed after it had been in use.\n"
                f"Put the old text back, and save the new one as "
                f"{stem}_v{int(version) + 1}{SUFFIX}."
            )


async def list_mappings(conn: Connection) -> list[MappingText]:
    async with conn.cursor(row_factory=class_row(MappingText)) as cur:
        return await (await cur.execute(LIST)).fetchall()


async def open_mappings(pool: Pool, folder: Path | None) -> tuple[str, ...]:
    """The names of all that an operator ever added, which this process knows from now on."""
    found = read_folder(folder) if folder else []
    async with connection(pool) as conn:
        await keep_mappings(conn, found)
        known = await list_mappings(conn)
    for one in known:
        formats.register(one.text, f"{one.name}{SUFFIX}")
    return tuple(one.name for one in known)


FIND_TEXT: Final = "SELECT text FROM mappings WHERE name = %s"


async def read_text(conn: Connection, name: str | None) -> dict[str, str]:
    """What a run is told of its mapping: a confined child reads no folder."""
    row = await (await conn.execute(FIND_TEXT, (name,))).fetchone() if name else None
    return {MAPPING_TEXT: row[0]} if row else {}
