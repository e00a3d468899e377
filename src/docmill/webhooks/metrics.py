"""The outbox's metrics: how much waits and how long, and what tries came to."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from docmill.db.cursors import begin_cursor, take_new
from docmill.db.pool import Connection
from docmill.web.metrics import Metrics
from docmill.webhooks import outbox

CURSOR: Final = "webhook_attempts"
LAST: Final = "SELECT coalesce(max(id), 0) FROM webhook_attempts"
SINCE: Final = """
SELECT id, at < now() - interval '1 minute', outcome FROM webhook_attempts
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

    async def begin(self, conn: Connection) -> None:
        await begin_cursor(conn, CURSOR, last=LAST)

    async def collect(self, conn: Connection) -> Callable[[], None]:
        state = await outbox.measure(conn)
        self._pending.set(state.pending)
        self._lag.set(state.lag)
        self._disabled.set(state.disabled)
        return partial(self._count, await take_new(conn, CURSOR, since=SINCE))

    def _count(self, tries: Sequence[tuple[Any, ...]]) -> None:
        for _, _, outcome in tries:
            self._tries.labels(outcome).inc()
