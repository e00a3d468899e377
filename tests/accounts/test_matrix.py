"""Nobody sees or changes what is another owner's: every route, every kind of credentials.

A route that is not in the table below fails the test: whoever adds one says what it may tell.
"""

import json
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from accounts.test_keys import RULES, as_user, bearer, make_key
from docmill.app import create_web
from docmill.core import owners
from docmill.db.pool import Pool
from docmill.web.config import WebConfig
from docmill.web.sessions import SignedInSessions
from sites import Site, Start, a_pdf, complete, part

pytestmark = pytest.mark.anyio

CANARY = "canary7f3a"
WORD = "findme"
DOCLING = frozenset({"docling"})
HOUR = timedelta(hours=1)

# Tells nothing that is anybody's.
OPEN = """
GET /  GET /api/healthz  GET /health  GET /ready  GET /metrics  GET /docs  GET /version
GET /api/receipts/key  GET /.well-known/docmill-receipts.json
GET /api/pipelines  GET /api/mappings  GET /sign-in  GET /sign-in/callback  POST /sign-out
GET /signed-out
"""
# Tells or changes what is the asker's own.
OWN = """
POST /api/upload  POST /documents  GET /api/jobs  GET /api/documents  POST /api/reprocess
POST /queue/upload  GET /queue  GET /queue/counts  GET /queue/changes  POST /queue/samples
GET /bucket  POST /bucket/count  GET /api/bucket  GET /api/bucket/objects
GET /documents  GET /api/documents/counts  GET /api/sources
GET /api/account  POST /api/account/claim  GET /api/keys  POST /api/keys  POST /settings/keys
POST /v1/convert/file/async  GET /api/search  GET /search  GET /api/reviews
GET /api/reviews/export  GET /api/lessons  PUT /api/lessons  DELETE /api/lessons
GET /api/profile  PUT /api/profile  GET /review  GET /api/settings  PATCH /api/settings
GET /settings  POST /settings  GET /api/trades  GET /api/trades/export.csv  GET /trades
GET /trades/review  GET /api/reviews/touchless  POST /api/reviews/calibrate
GET /api/trades/touchless  POST /api/trades/calibrate
GET /api/webhooks  POST /api/webhooks  GET /webhooks  POST /webhooks  POST /api/uploads
"""
# Names one thing, which must be the asker's own.
NAMED = """
POST /api/uploads/{upload_id}/complete  PUT /api/uploads/{upload_id}/content
POST /api/jobs/{job_id}/links  GET /links/{job_id}
GET /api/jobs/{job_id}  POST /api/jobs/{job_id}/retry  POST /api/jobs/{job_id}/cancel
DELETE /api/jobs/{job_id}  POST /api/jobs/{job_id}/read-as  GET /api/jobs/{job_id}/download
GET /api/jobs/{job_id}/receipt
GET /api/job-status/{job_id}  GET /api/jobs/{job_id}/partial  GET /api/jobs/{job_id}/original
GET /files/{key:path}  GET /api/jobs/{job_id}/pages/{number}.png
GET /api/jobs/{job_id}/pages/{number}.json  GET /api/documents/{document_id}/pdf
POST /api/documents/{document_id}/retry  GET /documents/{document_id}/pdf
POST /documents/{document_id}/retry  POST /api/sources/{name}/pause
POST /api/sources/{name}/resume  POST /sources/{name}/pause
POST /sources/{name}/resume  GET /api/reprocess/{batch_id}  GET /jobs/{job_id}/pdf
GET /jobs/{job_id}  DELETE /api/keys/{key_id}  POST /settings/keys/revoke
GET /v1/status/poll/{task_id}  GET /v1/result/{task_id}  GET /search/passages/{number}
POST /api/exports  GET /api/reviews/{job_id}  POST /api/reviews/{job_id}/edits
POST /api/reviews/{job_id}/check  POST /api/reviews/{job_id}/approve
POST /api/reviews/{job_id}/reject  DELETE /api/lessons/{lesson_id}  GET /review/{job_id}
GET /review/{job_id}/values  GET /study/{job_id}  GET /api/trades/{trade_id}
GET /api/trades/{trade_id}/pdf  POST /api/trades/{trade_id}/approve
POST /api/trades/{trade_id}/reject  POST /api/trades/{trade_id}/reopen
GET /api/documents/{document_id}  POST /trades/{trade_id}/{verb}  GET /trades/{trade_id}
GET /trades/{trade_id}/pdf  GET /trades/jobs/{job_id}  GET /trades/review/{document_id}
GET /trades/review/{document_id}/values  PATCH /api/trades/{trade_id}
GET /api/documents/{document_id}/trades  POST /api/documents/{document_id}/trades
POST /api/documents/{document_id}/trades/approve  POST /api/documents/{document_id}/trades/check
POST /api/documents/{document_id}/trades/checked  POST /api/documents/{document_id}/trades/edits
POST /api/documents/{document_id}/trades/reject  POST /api/reviews/{job_id}/checked
GET /api/webhooks/{webhook_id}  DELETE /api/webhooks/{webhook_id}
GET /api/webhooks/{webhook_id}/deliveries  POST /api/webhooks/{webhook_id}/enable
POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/replay
POST /api/webhooks/{webhook_id}/replay  POST /api/webhooks/{webhook_id}/rotate
GET /webhooks/{webhook_id}  POST /webhooks/{webhook_id}/delete  POST /webhooks/{webhook_id}/enable
POST /webhooks/{webhook_id}/replay  POST /webhooks/{webhook_id}/rotate
"""
# Tells of everybody's sessions, moves anybody's job ahead, or changes what everybody gets: to
# administrators.
ADMIN = """
GET /api/sessions  DELETE /api/sessions/{session_id}  GET /api/mappings/assignments
POST /api/mappings/{name}/assignments  DELETE /api/mappings/{name}/assignments
POST /api/jobs/{job_id}/boost  GET /api/admin/overview  POST /api/admin/jobs/{job_id}/{action}
POST /api/admin/retry  GET /api/admin/audit  GET /api/admin/audit/verify  GET /admin
GET /admin/audit  POST /admin/jobs/{job_id}/boost  POST /admin/jobs/{job_id}/{action}
POST /admin/retry  POST /admin/sources/{name}/{action}  POST /admin/sessions/{session_id}/end
GET /api/admin/cost  GET /api/admin/retention  PUT /api/admin/retention  POST /api/admin/sweep
POST /api/admin/services/{service}/pause  POST /api/admin/services/{service}/resume
GET /admin/cost  GET /admin/retention  POST /admin/sweep  POST /admin/reprocess
POST /api/admin/reprocess
POST /admin/services/{service}/pause  POST /admin/services/{service}/resume
"""
SIGNED = {"GET /files/{key:path}", "GET /links/{job_id}", "PUT /api/uploads/{upload_id}/content"}
# Has no end.
STREAMS = "GET /api/events  GET /queue/events"

BODIES: dict[str, Any] = {
    "POST /api/reviews/{job_id}/edits": {
        "revision": 0, "edits": [{"path": "invoice_number", "value": "x"}],
    },
    "POST /api/reviews/{job_id}/check": {"edits": [{"path": "invoice_number", "value": "x"}]},
    "POST /api/reviews/{job_id}/approve": {"revision": 0},
    "POST /api/reviews/{job_id}/reject": {"revision": 0, "reason": "no"},
    "POST /api/reviews/{job_id}/checked": {"revision": 0, "paths": ["invoice_number"]},
    "PATCH /api/trades/{trade_id}": {"quantity": "7"},
    "POST /api/documents/{document_id}/trades": {"direction": "buy"},
    "POST /api/documents/{document_id}/trades/approve": {"revision": 0},
    "POST /api/documents/{document_id}/trades/check": {
        "edits": [{"path": "lines[0].quantity", "value": "7"}],
    },
    "POST /api/documents/{document_id}/trades/checked": {"revision": 0, "paths": ["lines[0].name"]},
    "POST /api/documents/{document_id}/trades/edits": {
        "revision": 0, "edits": [{"path": "lines[0].quantity", "value": "7"}],
    },
    "POST /api/documents/{document_id}/trades/reject": {"revision": 0, "reason": "no"},
    "POST /api/uploads": {"filename": "other.pdf", "bytes": 9},
    "POST /api/webhooks": {"url": "https://hooks.example/docmill"},
    "POST /api/webhooks/{webhook_id}/replay": {"since": "2000-01-01T00:00:00Z"},
    "POST /api/jobs/{job_id}/read-as": {"pipeline": "study"},
    "POST /api/reprocess": {"pipeline": "extract"},
    "POST /api/keys": {"name": "mine"},
    "PUT /api/lessons": {"learning": True},
    "PUT /api/profile": {"name": "me"},
    "PATCH /api/settings": {"name": "me"},
}  # fmt: skip
REFUSED = {401, 403, 404}
# No provider to sign in with, and nothing that draws pages.
UNSET = {501, 503}
# By so many routes at least an owner sees what is theirs.
MOST_SEEN = 20


def split(text: str) -> set[str]:
    words = text.split()
    return {f"{method} {path}" for method, path in zip(words[::2], words[1::2], strict=True)}


@dataclass
class Victim:
    """Somebody who has one of everything, and a canary in all of it."""

    owner: str
    ids: dict[str, str] = field(default_factory=dict[str, str])


FILL: dict[str, str] = {
    "trade_id": """
    INSERT INTO trades (document_id, job_id, owner, position, direction, confidence_score, name)
    VALUES (%(document)s, %(job)s, %(owner)s, 0, 'buy', 1, %(canary)s) RETURNING id""",
    "number": """
    INSERT INTO chunks (job_id, document_id, owner, position, page, heading, text)
    VALUES (%(job)s, %(document)s, %(owner)s, 0, 1, '', 'findme ' || %(canary)s) RETURNING id""",
    "field": """
    INSERT INTO document_fields (job_id, document_id, owner, position, label, value, kind, plain,
                                 confidence, page)
    VALUES (%(job)s, %(document)s, %(owner)s, 0, 'findme', %(canary)s, 'text', %(canary)s, 1, 1)
    RETURNING id""",
    "batch_id": """
    INSERT INTO reprocesses (id, owner, asked, total)
    VALUES (gen_random_uuid(), %(owner)s, jsonb_build_object('canary', %(canary)s::text), 0)
    RETURNING id""",
    "lesson_id": """
    INSERT INTO lessons (owner, layout, field, lesson, taught_by)
    VALUES (%(owner)s, %(canary)s, 'total', '{}', %(canary)s) RETURNING id""",
    "key_id": """
    INSERT INTO api_keys (owner, name, hash, hint, scopes)
    VALUES (%(owner)s::text, %(canary)s, sha256(%(owner)s::text::bytea), 'dm_', '{read}')
    RETURNING id""",
    "webhook_id": """
    INSERT INTO webhooks (owner, source, url, events, secret)
    VALUES (%(owner)s, %(owner)s, 'https://hooks.example/' || %(canary)s::text, '{job.complete}',
            'whsec_' || %(canary)s::text) RETURNING id""",
    "event": """
    INSERT INTO webhook_events (source, kind, data)
    VALUES (%(owner)s, 'job.complete',
            jsonb_build_object('job_id', %(job)s::text, 'c', %(canary)s::text)) RETURNING id""",
    "delivery_id": """
    INSERT INTO webhook_deliveries (webhook_id, event_id, status, ended_at)
    SELECT w.id, e.id, 'delivered', now()
      FROM webhooks w JOIN webhook_events e ON e.source = w.source
     WHERE w.owner = %(owner)s RETURNING id""",
    "review": """
    INSERT INTO reviews (job_id, status, reason, decided_by, decided_at)
    VALUES (%(job)s, 'rejected', %(canary)s, 'me', now()) RETURNING job_id""",
    "profile": """
    UPDATE owners SET profile = jsonb_build_object('name', %(canary)s::text)
     WHERE owner = %(owner)s RETURNING owner""",
    "upload_id": """
    INSERT INTO uploads (id, owner, filename, bytes, wish, key, expires_at)
    VALUES (gen_random_uuid(), %(owner)s, %(canary)s, 1, '{}', 'direct/' || %(owner)s::text,
            now() + interval '1 hour') RETURNING id""",
    "session_id": """
    INSERT INTO sessions (id, owner, name, expires_at)
    VALUES (md5(%(owner)s::text), %(owner)s::text, %(canary)s, now() + interval '1 hour')
    RETURNING id""",
    "key:path": "SELECT upload_key FROM documents WHERE id = %(document)s",
}


async def make_victim(site: Site, client: httpx2.AsyncClient, pool: Pool) -> Victim:
    owner = (await client.get("/api/account")).json()["owner"]
    sent = await client.post("/api/upload", files=[part(a_pdf(owner), f"{CANARY}.pdf")])
    job = sent.json()["job"]
    await complete(site, job["id"], json.dumps({"pages": [], "text": CANARY}).encode())
    ids = {"job_id": job["id"], "task_id": job["id"], "document_id": job["document_id"]}
    ids |= {"verb": "approve", "action": "cancel", "name": "nobodys", "service": "openai"}
    given = {
        "owner": owner, "job": UUID(job["id"]), "document": UUID(job["document_id"]),
        "canary": CANARY,
    }  # fmt: skip
    async with pool.connection() as conn:
        for name, statement in FILL.items():
            row = await (await conn.execute(statement.encode(), given)).fetchone()
            assert row is not None
            ids[name] = str(row[0])
    return Victim(owner, ids)


async def open_actors(
    site: Site, pool: Pool, stack: AsyncExitStack
) -> dict[str, httpx2.AsyncClient]:
    """Everybody who is not the victim, each with a document of their own where they can."""

    async def enter(headers: Mapping[str, str]) -> httpx2.AsyncClient:
        return await stack.enter_async_context(site.client(headers=dict(headers)))

    bob, root = as_user("bob", premium=True, desks=["fx"]), as_user("root", admin=True)
    async with pool.connection() as conn:
        await conn.execute("INSERT INTO owners VALUES ('user:carl')")
        sessions = SignedInSessions(pool, secure=False)
        line = await sessions.begin(conn, owners.user("carl"), "Carl", HOUR)
    actors = {
        "session": await enter({}),
        "user": await enter(bob),
        "administrator": await enter(root),
        "signed in": await enter({"cookie": line.partition(";")[0]}),
    }
    full = ["read", "write", "admin"]
    for name, person in [*actors.items()]:
        await person.post("/api/upload", files=[part(a_pdf(name), "own.pdf")])
        for scopes in (["read"], ["write"], full) if name == "user" else (full,):
            key = (await make_key(person, scopes=scopes))["key"]
            actors[f"{name}'s key to {scopes}"] = await enter(bearer(key))
    actors["expired token"] = await enter(as_user("ann", exp=1))
    actors["made-up key"] = await enter(bearer("dm_" + "a" * 43))
    actors["nobody"] = await enter({})
    return actors


async def ask(client: httpx2.AsyncClient, route: str, victim: Victim) -> httpx2.Response:
    """The route with the victim's ids in it."""
    method, path = route.split(" ")
    for name, value in victim.ids.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, route
    given: dict[str, Any] = {"params": {"q": WORD, "since": "2000-01-01T00:00:00Z"}}
    if route in SIGNED:
        made_up = {"until": int(time.time()) + 60, "signature": "0" * 64, "bytes": 1}
        given["params"] = {**made_up, "name": "a"}
    if route in {"POST /api/upload", "POST /documents", "POST /queue/upload"}:
        given["files"] = [part(a_pdf(str(time.monotonic())), "other.pdf")]
    elif route == "POST /v1/convert/file/async":
        given["files"] = [part(field="files")]
    elif route == "POST /api/exports":
        given["json"] = {"jobs": [victim.ids["job_id"]]}
    elif route == "POST /settings/keys/revoke":
        given["data"] = {"id": victim.ids["key_id"]}
    elif method in {"POST", "PUT", "PATCH"}:
        given["json"] = BODIES.get(route, {})
    return await client.request(method, path, **given)


async def read_stream(client: httpx2.AsyncClient, route: str, mark: bytes) -> bytes:
    """What comes until the mark does; all of a refusal."""
    given = {"since": "2000-01-01T00:00:00Z"}
    read = b""
    async with client.stream("GET", route.split(" ")[1], params=given) as answer:
        async for piece in answer.aiter_bytes():
            read += piece
            if answer.status_code == 200 and mark in read:
                break
    return read


STATE = """
SELECT 'jobs', md5(string_agg(t::text, ',' ORDER BY id)) FROM jobs t WHERE owner = %(o)s
UNION ALL SELECT 'documents', md5(string_agg(t::text, ',' ORDER BY id))
  FROM documents t WHERE owner = %(o)s
UNION ALL SELECT 'trades', md5(string_agg(t::text, ',' ORDER BY id))
  FROM trades t WHERE owner = %(o)s
UNION ALL SELECT 'chunks', md5(string_agg(t::text, ',' ORDER BY id))
  FROM chunks t WHERE owner = %(o)s
UNION ALL SELECT 'lessons', md5(string_agg(t::text, ',' ORDER BY id))
  FROM lessons t WHERE owner = %(o)s
UNION ALL SELECT 'webhooks', md5(string_agg(t::text, ',' ORDER BY id))
  FROM webhooks t WHERE owner = %(o)s
UNION ALL SELECT 'uploads', md5(string_agg(t::text, ',' ORDER BY id))
  FROM uploads t WHERE owner = %(o)s
UNION ALL SELECT 'deliveries', md5(string_agg(d::text, ',' ORDER BY d.id))
  FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE w.owner = %(o)s
UNION ALL SELECT 'api_keys', md5(string_agg(t::text, ',' ORDER BY id))
  FROM api_keys t WHERE owner = %(o)s
UNION ALL SELECT 'reviews', md5(string_agg(r::text, ',' ORDER BY job_id))
  FROM reviews r JOIN jobs j ON j.id = r.job_id WHERE j.owner = %(o)s
UNION ALL SELECT 'profile', md5(profile::text || preferences::text)
  FROM owners WHERE owner = %(o)s
UNION ALL SELECT 'sessions', md5(string_agg(t::text, ',' ORDER BY id))
  FROM sessions t WHERE owner = %(o)s
"""


async def read_state(pool: Pool, owner: str) -> dict[str, str]:
    async with pool.connection() as conn:
        return dict(await (await conn.execute(STATE, {"o": owner})).fetchall())


@pytest.fixture
async def site(start: Start) -> AsyncGenerator[Site]:
    async with start(auth_mode="both", tokens=RULES, switches=DOCLING) as running_site:
        yield running_site


def list_routes(routes: Iterable[Any]) -> Iterator[str]:
    for route in routes:
        if router := getattr(route, "original_router", None):  # as FastAPI includes it
            yield from list_routes(router.routes)
        else:
            methods = getattr(route, "methods", {"MOUNT"}) - {"HEAD"}
            yield from (f"{method} {route.path}" for method in methods)


async def test_every_route_is_classed(site: Site) -> None:
    classes = [split(text) for text in (OPEN, OWN, NAMED, ADMIN, STREAMS)]
    known: set[str] = set()
    assert sum(map(len, classes)) == len(known.union(*classes)), "a route is in two classes"
    app = create_web(site.services, WebConfig(switches=DOCLING))
    files = {"MOUNT /static", "GET /openapi.json"}
    assert set(list_routes(app.routes)) == files.union(*classes)


async def find_leaks(
    client: httpx2.AsyncClient, victim: Victim, *, admin: bool = False, only: str = ""
) -> list[str]:
    """Routes by which this client learns of the victim, or is not refused what is theirs."""
    found: list[str] = []
    named = split(NAMED) if admin else split(f"{NAMED} {ADMIN}")
    # Who signs out is nobody for the rest of the walk; that has a test of its own.
    for route in sorted((split(OPEN) | split(OWN) | named) - {"POST /sign-out"}):
        if not route.startswith(only):
            continue
        answer = await ask(client, route, victim)
        assert answer.status_code < 500 or answer.status_code in UNSET, (route, answer.text)
        if CANARY in answer.text or (route in named and answer.status_code not in REFUSED):
            found.append(f"{route} {answer.status_code}")
    told = [(route, await read_stream(client, route, b"retry:")) for route in split(STREAMS)]
    return found + [route for route, text in told if CANARY.encode() in text]


@pytest.mark.parametrize("kind", ["user", "session"])
async def test_nobody_learns_of_or_changes_what_is_anothers(
    site: Site, pool: Pool, kind: str
) -> None:
    async with AsyncExitStack() as stack:
        headers = as_user("ann") if kind == "user" else {}
        owner = await stack.enter_async_context(site.client(headers=headers))
        victim = await make_victim(site, owner, pool)
        actors = await open_actors(site, pool, stack)
        before = await read_state(pool, victim.owner)
        for name, client in actors.items():
            admin = name in {"administrator", "administrator's key to ['read', 'write', 'admin']"}
            leaks = await find_leaks(client, victim, admin=admin)
            assert leaks == [], name
            assert await read_state(pool, victim.owner) == before, name
        for name in ("session", "user", "administrator", "signed in"):
            for route in split(STREAMS):
                told = await read_stream(actors[name], route, b"data:")
                assert CANARY.encode() not in told
        # The same walk finds what there is when the owner walks it, so it can fail.
        seen = await find_leaks(owner, victim, only="GET")
        assert len(seen) >= MOST_SEEN, seen
