"""The connection pool, and the database's troubles told as faults."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import psycopg
import psycopg_pool
from psycopg.rows import TupleRow

from docmill.core.faults import Faulted

Connection = psycopg.AsyncConnection[TupleRow]
Pool = psycopg_pool.AsyncConnectionPool[Connection]

OUTAGES = (psycopg.OperationalError, psycopg.InterfaceError, psycopg_pool.PoolClosed)


@asynccontextmanager
async def open_pool(
    url: str, *, size: int = 10, wait: timedelta = timedelta(seconds=3.5), pooler: bool = False
) -> AsyncGenerator[Pool]:
    """`pooler`: one stands between, so nothing may live longer than a transaction."""
    kwargs: dict[str, Any] = {"prepare_threshold": None if pooler else 3}
    if not pooler:
        # A page must not hang behind somebody's lock: it sheds with 503 instead. This and the wait
        # for a connection come one after the other, and together must stay under 5 s.
        kwargs["options"] = "-c lock_timeout=1s -c idle_in_transaction_session_timeout=60s"
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
async def reading(pool: Pool) -> AsyncGenerator[Connection]:
    """For reads alone: every statement by itself, which saves BEGIN and COMMIT their way."""
    async with connection(pool) as conn:
        await conn.set_autocommit(True)
        try:
            yield conn
        finally:
            with suppress(psycopg.Error):  # a broken connection is thrown away by the pool
                await conn.set_autocommit(False)


@asynccontextmanager
async def connection(pool: Pool) -> AsyncGenerator[Connection]:
    """One transaction, for whoever answers to a person: outages become faults."""
    try:
        async with pool.connection() as conn:
            yield conn
    except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests) as exc:
        raise Faulted("DATABASE_DOWN", str(exc), retryAfter=60) from exc
    except psycopg.errors.LockNotAvailable as exc:
        raise Faulted("BUSY", str(exc), retryAfter=5) from exc
    except OUTAGES as exc:
        raise Faulted("DATABASE_DOWN", str(exc), retryAfter=60) from exc
