"""Direct uploads: a client puts the bytes into the store itself, and then says that they are there.

Until then they lie apart. What was put is read once, checked, and stored anew under a key that no
client can write to: the address that was signed stays good for a while, and could be used again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from starlette.requests import Request

from docmill.core.cleanup import on_failure
from docmill.core.documents import direct_key
from docmill.core.faults import DocmillError
from docmill.core.jobs import JobId
from docmill.core.owners import Owner, OwnerKey
from docmill.core.texts import clean_text
from docmill.db import wall
from docmill.db.pool import Connection
from docmill.documents.links import SignedLinks
from docmill.documents.staging import BLOCK, FileStage, StagedFile
from docmill.storage.contract import SignedPut, Store

# How long the bytes may be put; who began in time may take as long as it takes.
LIFETIME: Final = timedelta(hours=1)
# A row and its bytes stay so much longer: for who ends late, and who completes twice.
GRACE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class DirectUpload:
    """Somebody may put so many bytes under this key. `wish`: the fields of an upload, as texts."""

    id: UUID
    owner: OwnerKey
    filename: str
    bytes: int
    sha256: str | None
    wish: Mapping[str, str]
    request_key: str | None
    key: str
    expires_at: datetime
    completed_at: datetime | None = None
    job_id: JobId | None = None


ADD: Final = """
INSERT INTO uploads (id, owner, filename, bytes, sha256, wish, request_key, key, expires_at)
VALUES (%(id)s, %(owner)s, %(filename)s, %(bytes)s, %(sha256)s, %(wish)s, %(request_key)s, %(key)s,
        %(expires_at)s)
"""


async def add_upload(conn: Connection, new: DirectUpload) -> None:
    args: dict[str, Any] = {
        "id": new.id,
        "owner": new.owner,
        "filename": new.filename,
        "bytes": new.bytes,
        "sha256": new.sha256,
        "wish": Jsonb(dict(new.wish)),
        "request_key": new.request_key,
        "key": new.key,
        "expires_at": new.expires_at,
    }
    await conn.execute(ADD, args)


FIND: Final = """
SELECT id, owner, filename, bytes, sha256, wish, request_key, key, expires_at, completed_at, job_id
  FROM uploads WHERE id = %s
"""


async def find_upload(conn: Connection, owner: Owner, upload_id: str) -> DirectUpload:
    """The upload, if there is one and it is the asker's."""
    try:
        async with conn.cursor(row_factory=class_row(DirectUpload)) as cur:
            wanted = UUID(upload_id)
            found = await (await cur.execute(FIND, (wanted,))).fetchone()
        if found is None and await wall.is_known(conn, "uploads", wanted):
            raise DocmillError("FORBIDDEN", uploadId=str(wanted))
    except ValueError:
        found = None
    if found is None:
        raise DocmillError("UPLOAD_NOT_FOUND", uploadId=clean_text(upload_id)[:64])
    if found.owner != owner.key:
        raise DocmillError("FORBIDDEN", uploadId=str(found.id))
    return found


COMPLETE: Final = """
UPDATE uploads SET completed_at = now(), job_id = %(job)s WHERE id = %(id)s AND completed_at IS NULL
"""


async def complete_upload(conn: Connection, upload_id: UUID, job_id: JobId) -> None:
    await conn.execute(COMPLETE, {"id": upload_id, "job": job_id})


LIST_OVER: Final = """
SELECT id, key FROM uploads WHERE expires_at < now() - %s ORDER BY expires_at LIMIT %s
"""
FORGET: Final = "DELETE FROM uploads WHERE id = %s"


async def list_over(conn: Connection, limit: int) -> list[tuple[UUID, str]]:
    """Those whose time is over, completed or not, with their keys."""
    rows = await (await conn.execute(LIST_OVER, (GRACE, limit))).fetchall()
    return [(row[0], row[1]) for row in rows]


async def forget_upload(conn: Connection, upload_id: UUID) -> None:
    await conn.execute(FORGET, (upload_id,))


async def sign_put(store: Store, links: SignedLinks, new: DirectUpload, base: str) -> SignedPut:
    """The store's own address, or one of ours where the store has none."""
    if signed := await store.signed_put(new.key, new.bytes, expires=LIFETIME):
        return signed
    until, signature = await links.sign(_describe_put(str(new.id), new.bytes), LIFETIME)
    asked = {"bytes": new.bytes, "until": until, "signature": signature}
    return SignedPut(f"{base}/api/uploads/{new.id}/content?{urlencode(asked)}", {})


def _describe_put(upload_id: str, size: int) -> str:
    return f"put\n{upload_id}\n{size}"


@dataclass(frozen=True, slots=True)
class PutPermission:
    """What an address of ours says: this upload, so many bytes, until then."""

    upload_id: str
    bytes: int
    until: int
    signature: str


async def receive_put(
    request: Request, store: Store, links: SignedLinks, permission: PutPermission
) -> None:
    """Store exactly as many bytes as were announced, or nothing."""
    await links.check(
        _describe_put(permission.upload_id, permission.bytes),
        permission.until,
        permission.signature,
    )
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) != permission.bytes:
        raise _wrong_size(int(declared), permission.bytes)
    writer = await store.writer(direct_key(UUID(permission.upload_id)))
    count, block = 0, bytearray()
    async with on_failure(writer.abort):
        async for chunk in request.stream():
            count += len(chunk)
            if count > permission.bytes:
                raise _wrong_size(count, permission.bytes)
            block += chunk
            if len(block) >= BLOCK:
                await writer.write(block)
                block = bytearray()
        if count != permission.bytes:
            raise _wrong_size(count, permission.bytes)
        await writer.write(block)
        await writer.commit()


async def stage_upload(store: Store, upload: DirectUpload) -> StagedFile:
    """What was put, read to its end: on its way to a place of its own, as any file that comes.

    NOT_UPLOADED while nothing is there. What is not what was announced is removed.
    """
    there = await store.head(upload.key)
    if there is None:
        raise DocmillError("NOT_UPLOADED", uploadId=str(upload.id))
    try:
        if there.bytes != upload.bytes:
            raise _wrong_size(there.bytes, upload.bytes)
        staged = await _stage(store, upload)
    except DocmillError as exc:
        if exc.fault.code == "WRONG_CONTENT":
            await store.delete(upload.key)
        raise
    return staged


async def _stage(store: Store, upload: DirectUpload) -> StagedFile:
    stage = FileStage(store, upload.filename, max_bytes=upload.bytes)
    async with on_failure(stage.abort):
        async for chunk in store.chunks(upload.key):
            await stage.write(chunk)
        staged = await stage.finish()
        if upload.sha256 and staged.sha256 != upload.sha256:
            raise _wrong(f"Its SHA-256 is {staged.sha256}; {upload.sha256} was announced.")
    return staged


def _wrong_size(came: int, announced: int) -> DocmillError:
    return _wrong(f"It has {came} bytes; {announced} were announced.")


def _wrong(reason: str) -> DocmillError:
    return DocmillError("WRONG_CONTENT", reason, reason=reason)
