"""How much one owner may have here: files, bytes, and jobs that wait or run."""

from dataclasses import dataclass
from typing import Final

from docmill.core.faults import DocmillError
from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.web.config import QuotaConfig

# Who has too many jobs under way may look again so soon.
RETRY_AFTER: Final = 30


@dataclass(frozen=True, slots=True)
class StoredAmount:
    """What an owner has here now."""

    files: int
    bytes: int
    jobs: int


READ_AMOUNT: Final = """
SELECT (SELECT count(*) FROM documents WHERE owner = %(owner)s AND upload_key IS NOT NULL),
       (SELECT coalesce(sum(bytes), 0)::bigint FROM documents
         WHERE owner = %(owner)s AND upload_key IS NOT NULL),
       (SELECT count(*) FROM jobs
         WHERE owner = %(owner)s AND status IN ('uploaded', 'queued', 'processing'))
"""


async def read_amount(conn: Connection, owner: OwnerKey) -> StoredAmount:
    row = await (await conn.execute(READ_AMOUNT, {"owner": owner})).fetchone()
    assert row is not None
    return StoredAmount(*row)


LOCK_OWNER: Final = "SELECT FROM owners WHERE owner = %s FOR UPDATE"


async def check_room(
    conn: Connection, owner: OwnerKey, quotas: QuotaConfig, *, coming: int = 0
) -> None:
    """Raises QUOTA_JOBS, QUOTA_FILES or QUOTA_BYTES where there is no room for one more file.

    `coming`: how many bytes it has. The owner's row is locked until COMMIT, so that of two files
    that come at once the second one counts the first.
    """
    if not (quotas.files or quotas.bytes or quotas.jobs):
        return
    await conn.execute(LOCK_OWNER, (owner,))
    has = await read_amount(conn, owner)
    if quotas.jobs and has.jobs >= quotas.jobs:
        facts = {"limit": quotas.jobs, "used": has.jobs, "retryAfter": RETRY_AFTER}
        raise DocmillError("QUOTA_JOBS", **facts)
    if quotas.files and has.files >= quotas.files:
        raise DocmillError("QUOTA_FILES", limit=quotas.files, used=has.files)
    if quotas.bytes and has.bytes + max(coming, 1) > quotas.bytes:
        raise DocmillError("QUOTA_BYTES", limit=quotas.bytes, used=has.bytes)
