"""The connections of a process, lent by turns; outages as faults, and writes tried again."""

import asyncio
import select
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import psycopg
import psycopg_pool
import structlog
from psycopg import errors
from psycopg.rows import TupleRow

from docmill.core.faults import DocmillError
from docmill.core.meters import Meter, measure_one
from docmill.db import wall
from docmill.db.absence import Absence
from docmill.db.turns import TurnQueue
from docmill.db.wall import EVERYTHING, UNSURE, View

log = structlog.get_logger()


class Outage:
    """Of one loop. `begin` may be called with every failure, `end` with every success."""

    def __init__(self, name: str) -> None:
        self._waits: str = f"{name}.waits"
        self._goes_on: str = f"{name}.goes_on"
        self._error: str = ""
        self._began_at: float = 0.0

    @property
    def lasts(self) -> bool:
        return bool(self._error)

    def begin(self, exc: psycopg.Error) -> None:
        """Another error than the last is news; the text of one may quote a document."""
        error = type(exc).__name__
        if error == self._error:
            return
        if not self._error:
            self._began_at = time.monotonic()
        self._error = error
        log.warning(self._waits, error=error, sqlstate=exc.sqlstate)

    def end(self) -> None:
        if self._error:
            seconds = round(time.monotonic() - self._began_at, 1)
            log.info(self._goes_on, after=self._error, seconds=seconds)
            self._error = ""


T = TypeVar("T")
Connection = psycopg.AsyncConnection[TupleRow]

# The database is away or sick, and our statement is not to blame: it may work later. Loops wait
# for any `psycopg.Error`, because a mistake of ours must not end them either.
OUTAGES = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.InternalError,  # read-only after a failover, timeouts, damage, and what nobody knows
    errors.InsufficientPrivilege,  # an operator's REVOKE: our own statements ask for nothing more
)
# Others are in the way.
CONTENTION = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)

TRIES: Final = 3
FIRST_WAIT: Final = 1.0
SHORT_WAIT: Final = 0.5
# A page must not hang behind somebody's lock: it sheds with 503 instead. The wait for a turn and
# the wait for a lock come one after the other, and together stay under 5 s.
LOCK_SECONDS: Final = 1.0
WRITE_SECONDS: Final = 4.5


class Pool(psycopg_pool.AsyncConnectionPool[Connection]):
    """Knows whether it is cut off from its database, and has turns for those who answer people."""

    def __init__(self, url: str, *, size: int, kwargs: dict[str, Any], timeout: float) -> None:
        self.turns: TurnQueue = TurnQueue(size)
        # Nothing that is set may live longer than a transaction.
        self.pooled: bool = kwargs["prepare_threshold"] is None
        self._gap: str | None = None
        self._is_wall_known: bool = False
        self._views: WeakKeyDictionary[Connection, View] = WeakKeyDictionary()
        self._errors_before: int = 0
        self._purging: asyncio.Task[None] | None = None
        # Known at once, for those who have another answer than waiting for a connection.
        self.absence: Absence = Absence(self._probe)
        super().__init__(
            url,
            kwargs=kwargs,
            min_size=1,
            max_size=size,
            timeout=timeout,
            max_waiting=4000,
            reconnect_timeout=5,
            configure=self._note_success,
            check=self._look_at,
            open=False,
            name="docmill",
        )

    @property
    def is_cut_off(self) -> bool:
        """Whether the last attempt to connect failed."""
        return self.get_stats().get("connections_errors", 0) > self._errors_before

    def list_meters(self) -> list[Meter]:
        """How busy it is; waits are those for a turn, which answers to people wait for."""
        turns = self.turns
        given: dict[str, tuple[str, Callable[[], float]]] = {
            "database_pool_connections": ("Connections of this process", self._stat("pool_size")),
            "database_pool_idle": ("Those that nobody uses", self._stat("pool_available")),
            "database_pool_waiting": ("Who waits for one now", lambda: turns.waiting),
        }
        counted: dict[str, tuple[str, Callable[[], float]]] = {
            "database_pool_waits": ("Times one was waited for", lambda: turns.waits),
            "database_pool_wait_seconds": ("Seconds waited for one", lambda: turns.waited),
            "database_pool_refused": ("Times the answer was BUSY", lambda: turns.refused),
        }
        return [
            Meter(name, says, measure_one(read), counts=name in counted)
            for name, (says, read) in (given | counted).items()
        ]

    def _stat(self, name: str) -> Callable[[], float]:
        return lambda: self.get_stats().get(name, 0)

    async def _note_success(self, _: Connection) -> None:
        self._errors_before = self.get_stats().get("connections_errors", 0)
        self.absence.end()

    async def _connect(self, timeout: float | None = None) -> Connection:  # noqa: ASYNC109
        try:
            return await super()._connect(timeout)
        except psycopg.OperationalError:
            self.absence.begin()
            raise

    async def _probe(self) -> None:
        async with self.connection(SHORT_WAIT) as conn:
            await conn.execute("SELECT 1")

    async def _look_at(self, conn: Connection) -> None:
        """Free for a healthy connection: an idle one has news only when its server closed it.

        Where one is dead the others are as well: they are thrown away together.
        """
        poll = select.poll()
        poll.register(conn.fileno(), select.POLLIN)
        if not poll.poll(0):
            return
        try:
            await self.check_connection(conn)
        except psycopg.Error:
            if self._purging is None or self._purging.done():
                self._purging = asyncio.create_task(self._purge())
            raise

    async def getconn(self, timeout: float | None = None) -> Connection:  # noqa: ASYNC109
        """A connection that sees everything.

        A task cancelled in the moment it is given one ends, instead of going on: the pool waits
        with `asyncio.wait_for`, which Python 3.11 lets swallow such a cancellation, and a stop
        would never be heard.
        """
        return await self._get(timeout, EVERYTHING)

    async def _get(self, timeout: float | None, view: View | None) -> Connection:  # noqa: ASYNC109
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        conn = await super().getconn(timeout)
        try:
            if view is not None:
                await self._set_view(conn, view)
        except BaseException:
            await self.putconn(conn)
            raise
        if task and task.cancelling() > before:
            await self.putconn(conn)
            raise asyncio.CancelledError
        return conn

    async def _set_view(self, conn: Connection, view: View) -> None:
        """It stays as it is set, so that one owner's requests in a row pay for it once."""
        if self.pooled or view == self._views.get(conn, EVERYTHING):
            return
        if not self._is_wall_known:
            await self.look_at_wall(conn)
        if self._gap and view is not EVERYTHING:
            return
        self._views[conn] = UNSURE
        async with committing_each(conn):
            await wall.set_view(conn, view, local=False)
        self._views[conn] = view

    async def look_at_wall(self, conn: Connection) -> None:
        """Whether PostgreSQL keeps owners apart as well; where it does not, code alone does."""
        self._gap = await wall.find_gap(conn)
        self._is_wall_known = True
        if self._gap:
            log.warning("wall.down", why=self._gap)

    @asynccontextmanager
    async def statements(self) -> AsyncGenerator[Connection]:
        """As `connection`, but every statement is a transaction by itself: one way and back."""
        async with self.connection() as conn, committing_each(conn):
            yield conn

    @asynccontextmanager
    async def lend(self) -> AsyncGenerator[Connection]:
        """As `connection`, for who has his turn; it sees what its request may see."""
        view = wall.view_now()
        conn = await self._take(view)
        try:
            async with conn:
                if self.pooled and view is not EVERYTHING:
                    await self._set_local_view(conn, view)
                yield conn
        finally:
            await self.putconn(conn)

    @asynccontextmanager
    async def lend_as_it_is(self) -> AsyncGenerator[tuple[Connection, View | None]]:
        """For a statement that sets by itself what it may see: the view, None where none stands."""
        conn = await self._take(None)
        try:
            async with committing_each(conn):
                if not self._is_wall_known:
                    await self.look_at_wall(conn)
                yield conn, None if self._gap else wall.view_now()
        finally:
            await self.putconn(conn)

    async def _set_local_view(self, conn: Connection, view: View) -> None:
        if not self._is_wall_known:
            await self.look_at_wall(conn)
        if not self._gap:
            await wall.set_view(conn, view, local=True)

    async def _take(self, view: View | None) -> Connection:
        """Asked for several times, each for a short while.

        After a moment in which the machine did not let us run, what we wait for is there a little
        after the time for it is over.
        """
        left = self.timeout
        while left > SHORT_WAIT:
            with suppress(psycopg_pool.PoolTimeout):
                return await self._get(SHORT_WAIT, view)
            left -= SHORT_WAIT
        return await self._get(left, view)

    async def _purge(self) -> None:
        with suppress(psycopg.Error):
            await self.check()


@asynccontextmanager
async def open_pool(
    url: str,
    *,
    size: int = 10,
    wait: timedelta = timedelta(seconds=3.5),
    lock: timedelta = timedelta(seconds=1),
    pooler: bool = False,
) -> AsyncGenerator[Pool]:
    """`wait` is for a connection, `lock` for what another transaction holds.

    `pooler`: one stands between, so nothing may live longer than a transaction.
    """
    kwargs: dict[str, Any] = {"prepare_threshold": None if pooler else 3}
    if not pooler:
        limits = {
            "lock_timeout": f"{lock / timedelta(milliseconds=1):.0f}ms",
            "idle_in_transaction_session_timeout": "60s",
        }
        kwargs["options"] = " ".join(f"-c {name}={value}" for name, value in limits.items())
    pool = Pool(url, size=size, kwargs=kwargs, timeout=wait.total_seconds())
    await pool.open()
    try:
        yield pool
    finally:
        pool.absence.end()
        await pool.close()


@asynccontextmanager
async def committing_each(conn: Connection) -> AsyncGenerator[None]:
    """Every statement by itself, which saves BEGIN and COMMIT their way."""
    await conn.set_autocommit(True)
    try:
        yield
    finally:
        with suppress(psycopg.Error):  # a broken connection is thrown away by the pool
            await conn.set_autocommit(False)


@asynccontextmanager
async def read_connection(pool: Pool) -> AsyncGenerator[Connection]:
    """For reads alone: every statement by itself."""
    async with connection(pool) as conn:
        if pool.pooled and wall.view_now() is not EVERYTHING:
            yield conn  # what it may see is said in the transaction
            return
        async with committing_each(conn):
            yield conn


@asynccontextmanager
async def connection(pool: Pool) -> AsyncGenerator[Connection]:
    """One transaction, for whoever answers to a person: outages become faults."""
    with _outages_as_faults(pool):
        async with pool.turns.turn(), pool.lend() as conn:
            yield conn


@asynccontextmanager
async def lone_statement(pool: Pool) -> AsyncGenerator[tuple[Connection, dict[str, Any]]]:
    """For one statement that is a transaction by itself, which costs one way there and back.

    With it go the terms that others set before: what it may see, and how long it waits for a lock.
    Raises `CommitUnknownError` where the server did not say that it took back what was written.
    """
    began_at, is_sent = time.monotonic(), False
    try:
        with _outages_as_faults(pool):
            async with pool.turns.turn(), pool.lend_as_it_is() as (conn, view):
                left = max(WRITE_SECONDS - (time.monotonic() - began_at), LOCK_SECONDS)
                is_sent = True
                yield conn, {"patience": f"{left * 1000:.0f}ms", **_describe_view(view)}
    except DocmillError as exc:
        if is_sent and exc.fault.code == "DATABASE_DOWN" and not _was_taken_back(exc.__cause__):
            raise CommitUnknownError(exc.fault.code, exc.detail, **exc.facts) from exc
        raise


def _describe_view(view: View | None) -> dict[str, str | None]:
    return {name: getattr(view, name, None) for name in ("owners", "desks", "role")}


def _was_taken_back(exc: BaseException | None) -> bool:
    """An ERROR ends the transaction; what is FATAL ends the session, perhaps after its commit."""
    return isinstance(exc, psycopg.Error) and exc.diag.severity_nonlocalized == "ERROR"


@contextmanager
def _outages_as_faults(pool: Pool) -> Generator[None]:
    try:
        yield
    except (psycopg_pool.PoolTimeout, psycopg_pool.TooManyRequests) as exc:
        if pool.is_cut_off:
            raise DocmillError("DATABASE_DOWN", str(exc), retryAfter=60) from exc
        raise DocmillError("BUSY", str(exc), retryAfter=2) from exc
    except CONTENTION as exc:
        raise DocmillError("BUSY", str(exc), retryAfter=5) from exc
    except OUTAGES as exc:
        raise DocmillError("DATABASE_DOWN", str(exc), retryAfter=60) from exc


class CommitUnknownError(DocmillError):
    """The connection broke during COMMIT: what was written may be there or not."""


PATIENCE: Final = "SELECT set_config('lock_timeout', %s, true)"


async def write(pool: Pool, act: Callable[[Connection], Awaitable[T]]) -> T:
    """One transaction for whoever answers to a person: three tries, the waits growing.

    `act` must do nothing but write to the database. Who came quickly to its turn may wait a little
    longer for a lock.
    """
    return await try_again(lambda: write_once(pool, act))


async def read(pool: Pool, act: Callable[[Connection], Awaitable[T]]) -> T:
    """The same for reads alone; for requests that are answered only when they went well.

    Pages that are asked for again anyway say at once that the database is away.
    """

    async def look() -> T:
        async with read_connection(pool) as conn:
            return await act(conn)

    return await try_again(look)


async def try_again(act: Callable[[], Awaitable[T]]) -> T:
    """Three tries while the database is away. What may have been written is not tried again."""
    wait = FIRST_WAIT
    for left in reversed(range(TRIES)):
        try:
            return await act()
        except CommitUnknownError:
            raise
        except DocmillError as exc:
            if not left or exc.fault.code != "DATABASE_DOWN":
                raise
        await asyncio.sleep(wait)
        wait *= 2
    raise AssertionError("unreachable")


async def write_once(pool: Pool, act: Callable[[Connection], Awaitable[T]]) -> T:
    """The same without a second try."""
    began_at = time.monotonic()
    committing = False
    try:
        async with connection(pool) as conn:
            left = max(WRITE_SECONDS - (time.monotonic() - began_at), LOCK_SECONDS)
            async with conn.pipeline():  # BEGIN goes with it
                await conn.execute(PATIENCE, (f"{left * 1000:.0f}ms",))
            written = await act(conn)
            committing = True
        return written
    except DocmillError as exc:
        if committing and exc.fault.code == "DATABASE_DOWN":
            raise CommitUnknownError(exc.fault.code, exc.detail, **exc.facts) from exc
        raise
