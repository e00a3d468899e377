"""What an owner gets who asks for nothing: by own choice, or as assigned by an operator.

A new mapping goes to some owners first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from psycopg.rows import class_row

from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection

READ_CHOICES: Final = "SELECT docmill_choices(%s)"


@dataclass(frozen=True, slots=True)
class OwnerChoices:
    """The mappings assigned to an owner, the first before others; and what the owner told."""

    assigned: Sequence[str] = field(default_factory=list[str])
    profile: Mapping[str, Any] = field(default_factory=dict[str, Any])
    preferences: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def choose_mapping(self, known: Sequence[str]) -> str | None:
        """The one of these that was assigned."""
        return next((mapping for mapping in self.assigned if mapping in known), None)


async def read_choices(conn: Connection, owner: OwnerKey) -> OwnerChoices:
    """Nothing of an owner who was never here but what goes to a share of all."""
    row = await (await conn.execute(READ_CHOICES, (owner,))).fetchone()
    assert row is not None
    return OwnerChoices(**row[0])


@dataclass(frozen=True, slots=True)
class Assignment:
    """To one owner, or to a share of all of them; revoked ones stay as the record."""

    id: int
    mapping: str
    owner: str | None
    percent: int | None
    assigned_at: datetime
    assigned_by: str
    revoked_at: datetime | None
    revoked_by: str | None


# A new share takes the place of the last one, and an owner has a mapping once.
ASSIGN: Final = """
WITH before AS (
    UPDATE mapping_assignments SET revoked_at = now(), revoked_by = %(by)s
     WHERE mapping = %(mapping)s AND revoked_at IS NULL
       AND owner IS NOT DISTINCT FROM %(owner)s)
INSERT INTO mapping_assignments (mapping, owner, percent, assigned_by)
VALUES (%(mapping)s, %(owner)s, %(percent)s, %(by)s)
"""


async def assign(
    conn: Connection, mapping: str, *, owner: str | None, percent: int | None, by: str
) -> None:
    args = {"mapping": mapping, "owner": owner, "percent": percent, "by": by}
    await conn.execute(ASSIGN, args)


REVOKE: Final = """
UPDATE mapping_assignments SET revoked_at = now(), revoked_by = %s
 WHERE mapping = %s AND revoked_at IS NULL
"""


async def revoke(conn: Connection, mapping: str, by: str) -> int:
    """Take a mapping back from all who were given it; how many assignments there were."""
    return (await conn.execute(REVOKE, (by, mapping))).rowcount


LIST_ASSIGNMENTS: Final = """
SELECT id, mapping, owner, percent, assigned_at, assigned_by, revoked_at, revoked_by
  FROM mapping_assignments ORDER BY id DESC LIMIT 500
"""


async def list_assignments(conn: Connection) -> list[Assignment]:
    """The newest first, revoked ones among them."""
    async with conn.cursor(row_factory=class_row(Assignment)) as cur:
        return await (await cur.execute(LIST_ASSIGNMENTS)).fetchall()
