"""The database of a process: DATABASE_URL, or the embedded one, watched and started again."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from docmill.app import StartError
from docmill.cli.console import say
from docmill.cli.options import Data
from docmill.core.parts import Parts
from docmill.db import embedded, migrate
from docmill.db.embedded import Server
from docmill.processes.supervise import (
    PartLife,
    ProcessEndedError,
    ProcessPart,
    StopSignal,
    supervise_part,
    wait_until,
)
from docmill.settings import Settings, read_settings

POSTGRES: Final = "postgres"
# Back within 10 s, recovery included.
LONGEST_DATABASE_PAUSE: Final = 2.0


class EmbeddedDatabase:
    """The server of a folder, always at the same address. `lives` counts its starts."""

    def __init__(self, place: Path, server: Server) -> None:
        self.lives: int = 1
        self.url: str = server.url
        self._place: Path = place
        self._server: Server = server

    @classmethod
    async def start(cls, place: Path) -> "EmbeddedDatabase":
        return cls(place, await _start_server(place))

    @property
    def is_running(self) -> bool:
        return self._server.running()

    async def watch(self, life: PartLife) -> None:
        """Start it again if it is down; raises ProcessEnded when it ends."""
        if not self._server.running():
            self._server = await _start_server(self._place, self._server.sockets)
            self.lives += 1
        life.up()
        await wait_until(lambda: self._trouble() is not None)
        trouble = self._trouble()
        if self._server.running():
            await asyncio.to_thread(self._server.stop)
        raise ProcessEndedError(trouble or "its process is gone")

    def _trouble(self) -> str | None:
        if not self._server.running():
            return "its process is gone"
        if self._server.stopping():  # for ever, as long as a session of ours is open
            return "somebody asked it to end"
        return None if self._server.has_socket else "its socket was removed"

    async def stop(self) -> None:
        await asyncio.to_thread(self._server.stop)


async def _start_server(place: Path, sockets: Path | None = None) -> Server:
    """In a thread. Cancelled, it ends what it began before it says so."""
    given_up = threading.Event()
    begin = partial(embedded.start, place, sockets=sockets, give_up=given_up.is_set)
    starting = asyncio.ensure_future(asyncio.to_thread(begin))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        given_up.set()
        await asyncio.wait({starting})
        if starting.exception() is None:
            await asyncio.to_thread(starting.result().stop)
        raise


@asynccontextmanager
async def run_embedded(settings: Settings, parts: Parts) -> AsyncGenerator[EmbeddedDatabase]:
    """Runs, and is started again whenever it ends, until the block ends."""
    with embedded.hold_folder(settings.data):
        server = await EmbeddedDatabase.start(settings.data / "postgres")
        keeping = asyncio.create_task(
            supervise_part(
                ProcessPart(POSTGRES, server.watch, longest_pause=LONGEST_DATABASE_PAUSE),
                StopSignal(),
                parts,
            )
        )
        try:
            yield server
        finally:
            keeping.cancel()
            await asyncio.wait({keeping})
            await server.stop()


def migrate_database(data: Data = None) -> None:
    """Update the schema of the database in DATABASE_URL, or of the embedded one."""
    settings = read_settings(data=data)
    with ExitStack() as stack:
        applied = asyncio.run(migrate.migrate(_open_database(settings, stack)))
    say("\n".join(f"applied {name}" for name in applied) or "The database is up to date.")


def _open_database(settings: Settings, stack: ExitStack) -> str:
    """DATABASE_URL, or the embedded database of the data folder for as long as the stack lives."""
    if settings.database_url:
        return settings.database_url.get_secret_value()
    stack.enter_context(embedded.hold_folder(settings.data))
    server = embedded.start(settings.data / "postgres")
    stack.callback(server.stop)
    return server.url


def reach_database(settings: Settings, stack: ExitStack) -> str:
    """DATABASE_URL, the embedded database where somebody runs it, or else run until the stack ends.

    For commands that are right whether docmill runs or not.
    """
    if settings.database_url is None and (url := find_running(settings.data)):
        return url
    return _open_database(settings, stack)


def cluster_folder(data: Path) -> Path:
    return data.resolve() / "postgres" / "cluster" / "pgdata"


def find_running(data: Path) -> str | None:
    """The address of the data folder's server, if somebody has it running."""
    cluster = cluster_folder(data)
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
        server = embedded.Server(int(lines[0]), sockets=Path(lines[4]), cluster=cluster)
        return server.url if server.running() and server.ready() else None
    except (OSError, ValueError, IndexError):
        return None


def find_database(settings: Settings) -> str:
    """DATABASE_URL, or the embedded database where a `docmill serve` runs it."""
    if settings.database_url:
        return settings.database_url.get_secret_value()
    if url := find_running(settings.data):
        return url
    raise StartError(
        f"No docmill runs with the folder {settings.data}, and DATABASE_URL is not set.\n"
        "Set it, start `docmill serve` first, or give the folder of one that runs: --data."
    )
