"""The trades' metrics: how many were read, and how fast the external parser answers."""

from datetime import datetime

from docmill.db.pool import Connection
from docmill.trades import queries
from docmill.web.metrics import Metrics


class TradeMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._extracted = metrics.counter("trades_extracted", "Trades read from documents")
        metrics.services["parse_trades"] = metrics.histogram(
            "ai_parser_seconds", "Answer times of the external parser of trades"
        )
        self._since: datetime | None = None
        self._known: int = 0

    async def begin(self, conn: Connection) -> None:
        self._since = await queries.read_clock(conn)

    async def collect(self, conn: Connection) -> None:
        if self._since is None:
            return
        now = await queries.count_extracted(conn, self._since)
        self._extracted.inc(max(0, now - self._known))
        self._known = max(self._known, now)
