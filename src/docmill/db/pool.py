"""The connection pool, and the database's troubles told as faults."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import psycopg
import psycopg_pool
from psycopg.rows import TupleRow

from docmill.core.faults import Faulted

Connection = psycopg.AsyncConnection[TupleRow]
Pool = psycopg_pool.AsyncConnectionPool[Connection]

ANSWER_SECONDS: Final = 4.5
OUTAGES = (psycopg.OperationalError, psycopg.InterfaceError, psycopg_pool.PoolClosed)


@asynccontextmanager
async def open_pool(
    url: str, *, size: int = 10, wait: timedelta = timedelta(seconds=4), pooler: bool = False
) -> AsyncGenerator[Pool]:
    """`pooler`: one stands between, so nothing may live longer than a transaction."""
    kwargs: dict[str, Any] = {"prepare_threshold": None if pooler else 3}
    if not pooler:
        # A page must not hang behind somebody's lock: it sheds with 503 instead.
        kwargs["options"] = "-c lock_timeout=4s -c idle_in_transaction_session_timeout=60s"
    pool: Pool = psycopg_pool.AsyncConnectionPool(
        url,
        kwargs=kwargs,
        min_size=1,
        max_size=size,
        timeout=wait.total_seconds(),
        max_waiting=4000,
        reconnect_timeout=5,
        open=False,
        name="docmill",
    )
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()


@asynccontextmanager
async def connection(pool: Pool) -> AsyncGenerator[Connection]:
    """One transaction, for whoever answers to a person: outages become faults.

    Waiting for a connection and then for locks may take ANSWER_SECONDS together, no more.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS), pool.connection() as conn:
            yield conn
    # A time-out during COMMIT leaves its outcome unknown, as an outage does, so it is told as one.
    except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests, TimeoutError) as exc:
        raise Faulted("DATABASE_DOWN", str(exc), retryAfter=60) from exc
    except psycopg.errors.LockNotAvailable as exc:
        raise Faulted("BUSY", str(exc), retryAfter=5) from exc
    except OUTAGES as exc:
        raise Faulted("DATABASE_DOWN", str(exc), retryAfter=60) from exc
