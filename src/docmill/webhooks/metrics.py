"""The outbox's metrics: how much waits and how long, and what tries came to."""

from typing import Final

from docmill.db.pool import Connection
from docmill.web.metrics import Metrics
from docmill.webhooks import outbox

BEGIN: Final = "SELECT coalesce(max(id), 0) FROM webhook_attempts"
# Ids are given before the commit, so a lower one may appear later than a higher one: the last
# minute is read again.
SINCE: Final = """
SELECT id, outcome, at < now() - interval '1 minute' FROM webhook_attempts
 WHERE id > %s ORDER BY id
"""


class WebhookMetrics:
    """Counts every try once."""

    def __init__(self, metrics: Metrics) -> None:
        self._tries = metrics.counter("webhook_tries", "Requests to webhooks", "outcome")
        self._pending = metrics.gauge("webhook_outbox_pending", "Deliveries that are to be made")
        self._lag = metrics.gauge(
            "webhook_outbox_lag_seconds", "How long the oldest due delivery has waited"
        )
        self._disabled = metrics.gauge("webhooks_disabled", "Webhooks that were disabled")
        self._floor: int = 0
        self._seen: set[int] = set()

    async def begin(self, conn: Connection) -> None:
        row = await (await conn.execute(BEGIN)).fetchone()
        self._floor = row[0] if row else 0

    async def collect(self, conn: Connection) -> None:
        state = await outbox.measure(conn)
        self._pending.set(state.pending)
        self._lag.set(state.lag)
        self._disabled.set(state.disabled)
        rows = await (await conn.execute(SINCE, (self._floor,))).fetchall()
        for number, outcome, _ in rows:
            if number not in self._seen:
                self._tries.labels(outcome).inc()
        self._floor = max((number for number, _, old in rows if old), default=self._floor)
        self._seen = {number for number, _, _ in rows if number > self._floor}
