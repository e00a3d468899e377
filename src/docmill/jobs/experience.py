"""What an owner's reviews say of confidence, kept by pipeline and told to runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from psycopg.types.json import Jsonb

from docmill.core.experience import ENOUGH, Counts
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection, Pool


@dataclass(frozen=True, slots=True)
class Touchless:
    """Of what an owner may review: all, what was approved by rule, and what was wrong in that."""

    documents: int = 0
    by_rule: int = 0
    wrong_values: int = 0
    wrong_documents: int = 0

    @property
    def rate(self) -> float:
        return self.by_rule / max(self.documents, 1)


READ_EXPERIENCE: Final = "SELECT counts FROM experience WHERE owner = %s AND pipeline = %s"


async def read_experience(conn: Connection, owner: OwnerKey, pipeline: str) -> dict[str, Any]:
    """Empty where there are too few reviews."""
    row = await (await conn.execute(READ_EXPERIENCE, (owner, pipeline))).fetchone()
    return row[0] if row else {}


KEEP_EXPERIENCE: Final = """
INSERT INTO experience (owner, pipeline, counts, reviews)
SELECT owners.owner, %(pipeline)s, %(counts)s, %(reviews)s FROM owners WHERE owner = %(owner)s
ON CONFLICT (owner, pipeline) DO UPDATE SET counts = excluded.counts, reviews = excluded.reviews,
    made_at = now()
"""


async def keep_experience(
    conn: Connection, owner: OwnerKey, counts: Mapping[str, Any], *, pipeline: str, reviews: int
) -> None:
    args = {"owner": owner, "pipeline": pipeline, "counts": Jsonb(dict(counts)), "reviews": reviews}
    await conn.execute(KEEP_EXPERIENCE, args)


async def fit_experience(
    pool: Pool, owner: OwnerKey, counts: Counts, *, pipeline: str, reviews: int
) -> dict[str, Any]:
    """Keeps what reviews say where there are enough of them; what was done."""
    values = sum(count for steps in counts.values() for _, count in steps.values())
    kept = reviews >= ENOUGH
    if kept:
        async with pool.connection() as conn:
            await keep_experience(conn, owner, counts, pipeline=pipeline, reviews=reviews)
    return {"reviews": reviews, "values": values, "enough": ENOUGH, "kept": kept}
