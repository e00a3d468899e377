"""The trades' metrics: trades read, notes that held none, answers of the external parser."""

from datetime import datetime
from typing import Final

from docmill.db.pool import Connection
from docmill.trades import queries
from docmill.web.metrics import Metrics

WITHOUT_TRADES: Final = """
SELECT count(*) FROM jobs
 WHERE status = 'complete' AND pipeline = 'trades' AND completed_at >= %s
   AND job_found_no_trades(jobs)
"""


async def count_without_trades(conn: Connection, since: datetime) -> int:
    """How many documents were read since a time and no trade was found in them."""
    row = await (await conn.execute(WITHOUT_TRADES, (since,))).fetchone()
    return row[0] if row else 0


class TradeMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._extracted = metrics.counter("trades_extracted", "Trades read from documents")
        self._without = metrics.counter(
            "documents_without_trades", "Documents read as trade notes in which no trade was found"
        )
        metrics.services["parse_trades"] = metrics.histogram(
            "ai_parser_seconds", "Answer times of the external parser of trades"
        )
        self._since: datetime | None = None
        self._known: int = 0
        self._known_without: int = 0

    async def begin(self, conn: Connection) -> None:
        self._since = await queries.read_clock(conn)

    async def collect(self, conn: Connection) -> None:
        if self._since is None:
            return
        now = await queries.count_extracted(conn, self._since)
        self._extracted.inc(max(0, now - self._known))
        self._known = max(self._known, now)
        without = await count_without_trades(conn, self._since)
        self._without.inc(max(0, without - self._known_without))
        self._known_without = max(self._known_without, without)
