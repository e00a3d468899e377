"""Webhooks in the database, and the log of what was delivered, for their owners."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NewType
from uuid import UUID

from psycopg.rows import class_row

from docmill.core.owners import OwnerKey
from docmill.db.pool import Connection
from docmill.web.params import Cursor

WebhookId = NewType("WebhookId", UUID)
DeliveryId = NewType("DeliveryId", UUID)
DeliveryStatus = Literal["pending", "delivered", "failed"]

MOST_WEBHOOKS: Final = 20


@dataclass(frozen=True, slots=True)
class Webhook:
    """`source` is whose events it is told: the owner's own, or a desk's."""

    id: WebhookId
    owner: str
    source: str
    url: str
    events: list[str]
    old_secret_until: datetime | None
    created_at: datetime
    disabled_at: datetime | None
    disabled_because: str | None
    failing_from: datetime | None
    delivered_at: datetime | None


# Against too many at once: whoever adds one holds the owner's row.
HOLD_OWNER: Final = "SELECT FROM owners WHERE owner = %s FOR NO KEY UPDATE"
ADD: Final = """
INSERT INTO webhooks (owner, source, url, events, secret)
SELECT %(owner)s, %(source)s, %(url)s, %(events)s, %(secret)s
 WHERE (SELECT count(*) FROM webhooks WHERE owner = %(owner)s) < %(most)s
RETURNING id, owner, source, url, events, old_secret_until, created_at, disabled_at,
          disabled_because, failing_from, delivered_at
"""


@dataclass(frozen=True, slots=True)
class NewWebhook:
    owner: OwnerKey
    source: OwnerKey
    url: str
    events: Sequence[str]
    secret: str


async def add_webhook(conn: Connection, new: NewWebhook) -> Webhook | None:
    """None when the owner has as many as allowed."""
    await conn.execute(HOLD_OWNER, (new.owner,))
    args = {
        "owner": new.owner,
        "source": new.source,
        "url": new.url,
        "events": list(new.events),
        "secret": new.secret,
        "most": MOST_WEBHOOKS,
    }
    async with conn.cursor(row_factory=class_row(Webhook)) as cur:
        return await (await cur.execute(ADD, args)).fetchone()


LIST: Final = """
SELECT id, owner, source, url, events, old_secret_until, created_at, disabled_at, disabled_because,
       failing_from, delivered_at
  FROM webhooks WHERE owner = %s ORDER BY created_at, id
"""


async def list_webhooks(conn: Connection, owner: OwnerKey) -> list[Webhook]:
    async with conn.cursor(row_factory=class_row(Webhook)) as cur:
        return await (await cur.execute(LIST, (owner,))).fetchall()


FIND: Final = """
SELECT id, owner, source, url, events, old_secret_until, created_at, disabled_at, disabled_because,
       failing_from, delivered_at
  FROM webhooks WHERE id = %s
"""


async def find_webhook(conn: Connection, webhook_id: UUID) -> Webhook | None:
    async with conn.cursor(row_factory=class_row(Webhook)) as cur:
        return await (await cur.execute(FIND, (webhook_id,))).fetchone()


DELETE: Final = "DELETE FROM webhooks WHERE id = %s"


async def delete_webhook(conn: Connection, webhook_id: WebhookId) -> None:
    """With all that was, or was to be, delivered to it."""
    await conn.execute(DELETE, (webhook_id,))


ROTATE: Final = """
UPDATE webhooks SET old_secret = secret, old_secret_until = now() + interval '24 hours',
       secret = %(secret)s
 WHERE id = %(id)s
"""


async def rotate_secret(conn: Connection, webhook_id: WebhookId, secret: str) -> None:
    """The secret before signs too for a day, so that the receiver can change over in peace."""
    await conn.execute(ROTATE, {"id": webhook_id, "secret": secret})


ENABLE: Final = """
UPDATE webhooks SET disabled_at = NULL, disabled_because = NULL, failing_from = NULL WHERE id = %s
"""


async def enable_webhook(conn: Connection, webhook_id: WebhookId) -> None:
    await conn.execute(ENABLE, (webhook_id,))


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook; `due_at` is when it is tried next."""

    id: DeliveryId
    event_id: UUID
    kind: str
    status: DeliveryStatus
    tries: int
    created_at: datetime
    due_at: datetime
    ended_at: datetime | None
    data: dict[str, object]


LIST_DELIVERIES: Final = """
SELECT d.id, d.event_id, e.kind, d.status, d.tries, d.created_at, d.due_at, d.ended_at, e.data
  FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
 WHERE d.webhook_id = %(webhook_id)s
   AND (%(status)s::text IS NULL OR d.status = %(status)s)
   AND (d.created_at, d.id) < (%(created_at)s, %(id)s)
 ORDER BY d.created_at DESC, d.id DESC LIMIT %(limit)s
"""


async def list_deliveries(
    conn: Connection,
    webhook_id: WebhookId,
    *,
    status: DeliveryStatus | None,
    after: Cursor | None,
    limit: int,
) -> list[Delivery]:
    """The newest first, from where the last page ended."""
    args = {
        "webhook_id": webhook_id,
        "status": status,
        "created_at": after.created_at if after else "infinity",
        "id": after.id if after else UUID(int=0),
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Delivery)) as cur:
        return await (await cur.execute(LIST_DELIVERIES, args)).fetchall()


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One request; `status` is that of the answer, where there was one."""

    delivery_id: DeliveryId
    at: datetime
    outcome: str
    status: int | None
    duration_ms: int
    answer: str
    error: str


LIST_ATTEMPTS: Final = """
SELECT delivery_id, at, outcome, status, duration_ms, answer, error
  FROM webhook_attempts WHERE delivery_id = ANY(%s) ORDER BY id
"""


async def list_attempts(
    conn: Connection, deliveries: Sequence[DeliveryId]
) -> dict[DeliveryId, list[DeliveryAttempt]]:
    """By delivery, in their order."""
    async with conn.cursor(row_factory=class_row(DeliveryAttempt)) as cur:
        found = await (await cur.execute(LIST_ATTEMPTS, (list(deliveries),))).fetchall()
    by_delivery: dict[DeliveryId, list[DeliveryAttempt]] = {one: [] for one in deliveries}
    for attempt in found:
        by_delivery[attempt.delivery_id].append(attempt)
    return by_delivery


# What is under way right now is let be: it is delivered by that, or tried again.
REPLAY: Final = """
WITH wanted AS MATERIALIZED (
    SELECT id FROM webhook_deliveries
     WHERE webhook_id = %(webhook_id)s AND status <> 'pending'
       AND (%(id)s::uuid IS NULL OR id = %(id)s)
       AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
       AND (NOT %(missed)s OR status = 'failed')
     ORDER BY id FOR UPDATE)
UPDATE webhook_deliveries d
   SET status = 'pending', ended_at = NULL, tries = 0, claim = claim + 1, due_at = now()
  FROM wanted WHERE d.id = wanted.id
"""


async def replay_one(conn: Connection, webhook_id: WebhookId, delivery_id: UUID) -> bool:
    """False where it waits to be delivered anyway."""
    args = {"webhook_id": webhook_id, "id": delivery_id, "since": None, "missed": False}
    return (await conn.execute(REPLAY, args)).rowcount > 0


async def replay_since(
    conn: Connection, webhook_id: WebhookId, since: datetime, *, missed: bool
) -> int:
    """How many; `missed`: only what did not get through."""
    args = {"webhook_id": webhook_id, "id": None, "since": since, "missed": missed}
    return (await conn.execute(REPLAY, args)).rowcount


KNOWN: Final = "SELECT 1 FROM webhook_deliveries WHERE id = %s AND webhook_id = %s"


async def delivery_exists(conn: Connection, webhook_id: WebhookId, delivery_id: UUID) -> bool:
    found = await conn.execute(KNOWN, (delivery_id, webhook_id))
    return await found.fetchone() is not None
