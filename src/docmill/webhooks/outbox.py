"""What is due in the outbox, and what became of it. Who dies leaves a delivery to others."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from psycopg.rows import class_row

from docmill.db.pool import Connection
from docmill.webhooks.queries import DeliveryId, DeliveryStatus, WebhookId


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery that is ours for a while: what to send, where, and with which secrets signed."""

    id: DeliveryId
    claim: int
    tries: int
    webhook_id: WebhookId
    url: str
    secrets: list[str]
    event_id: UUID
    kind: str
    at: datetime
    data: str


# A few of each webhook, so that one with a long backlog does not hold up the others.
TAKE: Final = """
WITH ready AS MATERIALIZED (
    SELECT due.id, due.due_at
      FROM webhooks w CROSS JOIN LATERAL (
           SELECT d.id, d.due_at FROM webhook_deliveries d
            WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.due_at <= now()
            ORDER BY d.due_at LIMIT %(each)s FOR UPDATE SKIP LOCKED) due
     WHERE w.disabled_at IS NULL AND w.id <> ALL(%(busy)s)
     ORDER BY due.due_at LIMIT %(most)s),
taken AS (
    UPDATE webhook_deliveries d SET claim = d.claim + 1, due_at = now() + %(lease)s
      FROM ready WHERE d.id = ready.id
    RETURNING d.id, d.claim, d.tries, d.webhook_id, d.event_id)
SELECT taken.id, taken.claim, taken.tries, taken.webhook_id, w.url,
       CASE WHEN w.old_secret_until > now() THEN ARRAY[w.secret, w.old_secret]
            ELSE ARRAY[w.secret] END AS secrets,
       taken.event_id, e.kind, e.at, e.data::text AS data
  FROM taken JOIN webhooks w ON w.id = taken.webhook_id
             JOIN webhook_events e ON e.id = taken.event_id
"""


async def take_due(
    conn: Connection, *, most: int, each: int, busy: Collection[WebhookId], lease: timedelta
) -> Sequence[DueDelivery]:
    """What nobody else is at. `busy` are webhooks that have enough under way."""
    args = {"most": most, "each": each, "busy": list(busy), "lease": lease}
    async with conn.cursor(row_factory=class_row(DueDelivery)) as cur:
        return await (await cur.execute(TAKE, args)).fetchall()


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What a request came to: `outcome` is delivered, retry, failed or gone."""

    outcome: str
    status: int | None
    duration_ms: int
    answer: str = ""
    error: str = ""
    delay: timedelta = timedelta()

    @property
    def delivery_status(self) -> DeliveryStatus:
        if self.outcome == "delivered":
            return "delivered"
        return "pending" if self.outcome == "retry" else "failed"


RECORD: Final = """
WITH mine AS (
    UPDATE webhook_deliveries
       SET status = %(goes)s, tries = tries + 1,
           due_at = CASE WHEN %(goes)s = 'pending' THEN now() + %(delay)s ELSE due_at END,
           ended_at = CASE WHEN %(goes)s <> 'pending' THEN now() END
     WHERE id = %(id)s AND claim = %(claim)s AND status = 'pending'
    RETURNING id)
INSERT INTO webhook_attempts (delivery_id, outcome, status, duration_ms, answer, error)
SELECT id, %(outcome)s, %(status)s, %(duration_ms)s, %(answer)s, %(error)s FROM mine
"""


async def record_attempt(conn: Connection, due: DueDelivery, result: AttemptResult) -> bool:
    """False when somebody else has the delivery by now."""
    args = {
        "id": due.id,
        "claim": due.claim,
        "goes": result.delivery_status,
        "delay": result.delay,
        "outcome": result.outcome,
        "status": result.status,
        "duration_ms": result.duration_ms,
        "answer": result.answer,
        "error": result.error,
    }
    return (await conn.execute(RECORD, args)).rowcount > 0


# Not with every delivery: a webhook that works has its row left alone for a minute.
NOTE_SUCCESS: Final = """
UPDATE webhooks SET delivered_at = now(), failing_from = NULL
 WHERE id = %s AND (failing_from IS NOT NULL OR delivered_at IS NULL
                    OR delivered_at < now() - interval '1 minute')
"""
NOTE_FAILURE: Final = (
    "UPDATE webhooks SET failing_from = now() WHERE id = %s AND failing_from IS NULL"
)


async def note_health(conn: Connection, webhook_id: WebhookId, *, is_well: bool) -> None:
    """Before its deliveries are written to: so does who deletes it, and nobody waits in a ring."""
    await conn.execute(NOTE_SUCCESS if is_well else NOTE_FAILURE, (webhook_id,))


DISABLE: Final = """
UPDATE webhooks SET disabled_at = now(), disabled_because = %(why)s
 WHERE id = %(id)s AND disabled_at IS NULL AND failing_from <= now() - %(failing)s
"""


async def disable(conn: Connection, webhook_id: WebhookId, why: str, *, failing: timedelta) -> bool:
    """If nothing got through for so long."""
    args = {"id": webhook_id, "why": why, "failing": failing}
    return (await conn.execute(DISABLE, args)).rowcount > 0


GIVE_UP: Final = """
UPDATE webhook_deliveries SET status = 'failed', ended_at = now(), claim = claim + 1
 WHERE id IN (SELECT id FROM webhook_deliveries WHERE webhook_id = %s AND status = 'pending'
               ORDER BY id FOR UPDATE)
"""


async def give_up(conn: Connection, webhook_id: WebhookId) -> None:
    """What waits for a disabled webhook has failed; it can be replayed."""
    await conn.execute(GIVE_UP, (webhook_id,))


FORGET: Final = """
DELETE FROM webhook_events WHERE id IN (
    SELECT id FROM webhook_events WHERE at < now() - %s ORDER BY at LIMIT 1000)
"""


async def forget_old(conn: Connection, keep: timedelta) -> int:
    """Events with their deliveries and attempts; 1,000 at a time."""
    return (await conn.execute(FORGET, (keep,))).rowcount


@dataclass(frozen=True, slots=True)
class OutboxState:
    """`lag` is how long the oldest due delivery has waited, in seconds."""

    pending: int
    lag: float
    disabled: int


MEASURE: Final = """
SELECT coalesce(sum(due.pending), 0)::bigint AS pending,
       coalesce(max(extract(epoch FROM now() - due.first)), 0)::float8 AS lag,
       (SELECT count(*) FROM webhooks WHERE disabled_at IS NOT NULL) AS disabled
  FROM webhooks w CROSS JOIN LATERAL (
       SELECT count(*) AS pending, min(d.due_at) FILTER (WHERE d.due_at <= now()) AS first
         FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending') due
 WHERE w.disabled_at IS NULL
"""


async def measure(conn: Connection) -> OutboxState:
    async with conn.cursor(row_factory=class_row(OutboxState)) as cur:
        found = await (await cur.execute(MEASURE)).fetchone()
    assert found is not None
    return found
