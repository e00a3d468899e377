"""The trades' metrics: trades read, notes that held none, answers of the external parser."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from docmill.db.cursors import begin_cursor, take_new
from docmill.db.pool import Connection
from docmill.web.metrics import Metrics

READ: Final = "trade_audit"
LAST_READ: Final = "SELECT coalesce(max(id), 0) FROM trade_audit"
READ_SINCE: Final = """
SELECT id, at < now() - interval '1 minute' FROM trade_audit
 WHERE id > %s AND action = 'extracted' ORDER BY id
"""
ENDED: Final = "trade_jobs"
LAST_ENDED: Final = "SELECT coalesce(max(id), 0) FROM job_events"
ENDED_SINCE: Final = """
SELECT e.id, e.at < now() - interval '1 minute', job_found_no_trades(jobs)
  FROM job_events e JOIN jobs ON jobs.id = e.job_id
 WHERE e.id > %s AND e.kind = 'complete' AND jobs.pipeline = 'trades' ORDER BY e.id
"""


class TradeMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._extracted = metrics.counter("trades_extracted", "Trades read from documents")
        self._without = metrics.counter(
            "documents_without_trades", "Documents read as trade notes in which no trade was found"
        )
        metrics.services["parse_trades"] = metrics.histogram(
            "ai_parser_seconds", "Answer times of the external parser of trades"
        )

    async def begin(self, conn: Connection) -> None:
        await begin_cursor(conn, READ, last=LAST_READ)
        await begin_cursor(conn, ENDED, last=LAST_ENDED)

    async def collect(self, conn: Connection) -> Callable[[], None]:
        read = await take_new(conn, READ, since=READ_SINCE)
        return partial(self._count, len(read), await take_new(conn, ENDED, since=ENDED_SINCE))

    def _count(self, read: int, ended: Sequence[tuple[Any, ...]]) -> None:
        self._extracted.inc(read)
        self._without.inc(sum(is_without for _, _, is_without in ended))
