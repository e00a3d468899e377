"""Events that several processes count together: each is given to one of them, once."""

from collections.abc import Sequence
from typing import Any, Final, LiteralString

from docmill.db.pool import Connection

# A cursor that nobody has moved for so long begins anew: what was missed is history.
BEGIN: Final = """
INSERT INTO event_cursors (name, floor) VALUES (%(name)s, %(floor)s)
ON CONFLICT (name) DO UPDATE
   SET floor = excluded.floor, seen = '{}', moved_at = now()
 WHERE event_cursors.moved_at < now() - interval '15 minutes'
"""


async def begin_cursor(conn: Connection, name: str, *, last: LiteralString) -> None:
    """From the event on that the query `last` gives the id of, if nobody counts them already."""
    row = await (await conn.execute(last)).fetchone()
    await conn.execute(BEGIN, {"name": name, "floor": row[0] if row else 0})


READ: Final = "SELECT floor, seen FROM event_cursors WHERE name = %s FOR UPDATE"
MOVE: Final = """
UPDATE event_cursors SET floor = %(floor)s, seen = %(seen)s, moved_at = now() WHERE name = %(name)s
"""


async def take_new(
    conn: Connection, name: str, *, since: LiteralString
) -> Sequence[tuple[Any, ...]]:
    """The rows that nobody has taken yet; they are the caller's when the transaction ends well.

    `since` selects rows above an id. They begin with the id and whether they are old enough: ids
    are given before the commit, so a lower one may appear later than a higher one, and the last
    minute is read again.
    """
    found = await (await conn.execute(READ, (name,))).fetchone()
    if found is None:
        return []
    floor, seen = found[0], set(found[1])
    rows = await (await conn.execute(since, (floor,))).fetchall()
    floor = max((row[0] for row in rows if row[1]), default=floor)
    above = [row[0] for row in rows if row[0] > floor]
    await conn.execute(MOVE, {"name": name, "floor": floor, "seen": above})
    return [row for row in rows if row[0] not in seen]
