"""Invoices that somebody stands for, to be read again and compared without regard to places."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.comparison import ApprovedReading, Outline
from docmill.core.jobs import JobId
from docmill.db.pool import Connection
from docmill.invoices.fields import FIELDS, LINE_FIELDS, InvoiceField, lines_of, value_at
from docmill.invoices.values import clean, format_plain, parse_number

# What a rule approved has one reading, which is the approved one.
LIST_APPROVED: Final = """
SELECT j.id AS job_id, r.decided_by AS by, r.decided_at AS at, original.key AS read_key,
       approved.key AS approved_key
  FROM reviews r JOIN jobs j ON j.id = r.job_id
  JOIN results original ON original.job_id = j.id AND original.claim = j.claim
                       AND original.form = 'data' AND original.revision = 0
  JOIN LATERAL (SELECT key FROM results x
                 WHERE x.job_id = j.id AND x.claim = j.claim AND x.form = 'data'
                 ORDER BY x.revision DESC LIMIT 1) approved ON true
 WHERE r.status = 'approved' AND j.pipeline = 'invoice'
   AND coalesce(j.result_key, j.reading_key) IS NOT NULL AND j.id > %(after)s
 ORDER BY j.id LIMIT %(limit)s
"""


async def list_approved(
    conn: Connection, after: JobId | None, limit: int
) -> Sequence[ApprovedReading]:
    args = {"after": after or UUID(int=0), "limit": limit}
    async with conn.cursor(row_factory=class_row(ApprovedReading)) as cur:
        return await (await cur.execute(LIST_APPROVED, args)).fetchall()


def outline_invoice(data: Mapping[str, Any]) -> Outline:
    """An invoice without where its values stand."""
    values = {field.path: _write(field, value_at(data, field.path)) for field in FIELDS}
    rows = [
        {field.name: _write(field, line.get(field.name)) for field in LINE_FIELDS}
        for line in lines_of(data)
    ]
    return Outline(_drop_empty(values), [_drop_empty(row) for row in rows], "lines")


def _write(field: InvoiceField, value: object) -> str:
    number = parse_number(value) if field.is_number else None
    return clean(value) if number is None else format_plain(number)


def _drop_empty(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
