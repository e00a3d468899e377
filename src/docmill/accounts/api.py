"""/api/account, /api/keys and /api/sessions: who one is, one's keys, everybody's sessions."""

from datetime import timedelta
from typing import Annotated, Any, ClassVar, Final, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from docmill.accounts import adoption, keys, queries
from docmill.accounts.queries import ApiKey, OpenSession
from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.db import audit
from docmill.db.audit import AuditedAction
from docmill.db.pool import Connection, read_connection, write
from docmill.documents import quotas
from docmill.web import auth, json_body, problems
from docmill.web.json_body import whole_number
from docmill.web.params import Instant
from docmill.web.site import CurrentOwner, CurrentSite

router = APIRouter(tags=["account"])

ACCOUNT_FAULTS: Final = ("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")
KEY_FAULTS: Final = ("CROSS_SITE", "SCOPE_MISSING", *ACCOUNT_FAULTS)
SESSION_FAULTS: Final = ("ADMIN_ONLY", *ACCOUNT_FAULTS)
Scope = Literal["read", "write", "admin"]
LONGEST_DAYS: Final = 3660
# The limits stand inside, or the schema would not tell them.
Days = Annotated[int, Field(ge=1, le=LONGEST_DAYS), BeforeValidator(whole_number)]


class QuotaModel(BaseModel):
    """`limit` 0 is no limit."""

    used: int
    limit: int


class AccountModel(BaseModel):
    """Who asks, and what they may do."""

    owner: str = Field(examples=["user:ann"])
    user_id: str | None
    name: str = Field(description="As the provider names them that they signed in with")
    signed_in: bool
    admin: bool
    premium: bool
    desks: list[str]
    scopes: list[str] = Field(description="What the credentials of this request allow")
    files: QuotaModel
    bytes: QuotaModel
    jobs: QuotaModel = Field(description="Jobs that wait or run")


class ClaimAnswer(BaseModel):
    jobs: int = Field(description="How many jobs became yours")


class KeyShape(BaseModel):
    """A key as it is listed: nobody can show the key itself again."""

    id: str
    name: str
    hint: str = Field(examples=["dm_Kx3p"], description="How the key begins")
    scopes: list[Scope]
    created_at: Instant
    expires_at: Instant | None
    last_used_at: Instant | None = Field(description="To the minute")


class CreatedKey(KeyShape):
    key: str = Field(description="The key. Keep it: it is shown this once")


class KeyList(BaseModel):
    keys: list[KeyShape]


class KeyRequest(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=100, examples=["nightly import"])]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)] = ["read", "write"]
    expires_days: Days | None = None


class SessionShape(BaseModel):
    id: str
    owner: str
    name: str
    signed_in: bool = Field(description="False: an anonymous session, known by its cookie alone")
    created_at: Instant
    seen_at: Instant = Field(description="About when it was last there")
    expires_at: Instant | None


class SessionList(BaseModel):
    sessions: list[SessionShape]


class Ended(BaseModel):
    ended: int


@router.get(
    "/api/account",
    summary="Who you are, and how much you have here",
    responses=problems.fault_responses(*ACCOUNT_FAULTS),
)
async def show_account(request: Request, site: CurrentSite, owner: CurrentOwner) -> AccountModel:
    person = getattr(request.state, "signed_in", None)
    async with read_connection(site.pool) as conn:
        has = await quotas.read_amount(conn, owner.key)
    most = site.config.quotas
    return AccountModel(
        owner=owner.key,
        user_id=owner.user_id,
        name=person.name if person else "",
        signed_in=person is not None,
        admin=owner.admin,
        premium=owner.priority >= owners.PREMIUM,
        desks=list(owner.desks),
        scopes=list(owner.scopes),
        files=QuotaModel(used=has.files, limit=most.files),
        bytes=QuotaModel(used=has.bytes, limit=most.bytes),
        jobs=QuotaModel(used=has.jobs, limit=most.jobs),
    )


@router.post(
    "/api/account/claim",
    summary="Take over what your anonymous session has uploaded",
    responses=problems.fault_responses("CROSS_SITE", "SESSION_NOT_FOUND", *ACCOUNT_FAULTS),
)
async def claim_session(
    request: Request, response: Response, site: CurrentSite, owner: CurrentOwner
) -> ClaimAnswer:
    """Send your token and the session's cookie. Jobs, documents, trades, reviews and settings
    become yours at once; the cookie is good for nothing afterwards."""
    session = await site.auth.sessions.find(request)
    if session is None or owner.user_id is None:
        raise DocmillError("SESSION_NOT_FOUND", "no cookie to take over")
    count = await adoption.claim_session(site, owner, session)
    response.headers.append("set-cookie", site.auth.sessions.end_line())
    return ClaimAnswer(jobs=count)


@router.get("/api/keys", summary="Your keys", responses=problems.fault_responses(*ACCOUNT_FAULTS))
async def list_keys(site: CurrentSite, owner: CurrentOwner) -> KeyList:
    found = await keys.list_keys(site, owner)
    return KeyList(keys=[KeyShape(**_describe_key(key)) for key in found])


@router.post(
    "/api/keys",
    summary="Make a key for a program",
    status_code=201,
    openapi_extra=json_body.describe_body(KeyRequest.model_json_schema()),
    responses=problems.fault_responses("BAD_REQUEST", "TOO_MANY_KEYS", *KEY_FAULTS),
)
async def create_key(request: Request, site: CurrentSite, owner: CurrentOwner) -> CreatedKey:
    """It is sent as `Authorization: Bearer dm_...`. `read` lets it ask, `write` change, `admin`
    do whatever you may do, such as making keys. It keeps what you are granted now."""
    wish = await json_body.read_json(request, KeyRequest)
    lasts = timedelta(days=wish.expires_days) if wish.expires_days else None
    key, kept = await keys.create_key(site, owner, wish.name, scopes=wish.scopes, lasts=lasts)
    return CreatedKey(key=key, **_describe_key(kept))


@router.delete(
    "/api/keys/{key_id}",
    summary="Revoke a key; it is refused from now on",
    status_code=204,
    responses=problems.fault_responses("KEY_NOT_FOUND", *KEY_FAULTS),
)
async def revoke_key(key_id: str, site: CurrentSite, owner: CurrentOwner) -> None:
    await keys.revoke_key(site, owner, key_id)


def _describe_key(key: ApiKey) -> dict[str, Any]:
    return {
        "id": str(key.id),
        **{name: getattr(key, name) for name in KeyShape.model_fields if name != "id"},
    }


@router.get(
    "/api/sessions",
    summary="Everybody's sessions, the last seen first; for administrators",
    responses=problems.fault_responses(*SESSION_FAULTS),
)
async def list_sessions(
    site: CurrentSite,
    owner: CurrentOwner,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> SessionList:
    auth.check_watcher(owner)
    async with read_connection(site.pool) as conn:
        found = await queries.list_sessions(conn, limit)
    return SessionList(sessions=[_shape_session(each) for each in found])


@router.delete(
    "/api/sessions/{session_id}",
    summary="End a session; for administrators",
    responses=problems.fault_responses("CROSS_SITE", "SESSION_NOT_FOUND", *SESSION_FAULTS),
)
async def end_session(session_id: str, site: CurrentSite, owner: CurrentOwner) -> Ended:
    """Whoever holds its cookie comes as a stranger from then on, everywhere within 2 seconds.
    What the session owns stays."""
    auth.check_admin(owner)

    async def end(conn: Connection) -> list[str]:
        found = await queries.end_session(conn, session_id)
        if not found:
            raise DocmillError("SESSION_NOT_FOUND")
        done = AuditedAction(owner.key, "session.end", f"session:{session_id}")
        await audit.record(conn, done, after={"ended": len(found)})
        return found

    ended = await write(site.pool, end)
    site.auth.sessions.forget()
    site.auth.signed_in.forget(session_id)
    return Ended(ended=len(ended))


def _shape_session(session: OpenSession) -> SessionShape:
    return SessionShape(**{name: getattr(session, name) for name in SessionShape.model_fields})
