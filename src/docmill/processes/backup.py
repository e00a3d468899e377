"""docmill backup and docmill restore: the database and the stored bytes, as one folder.

The order is what makes a backup whole. docmill writes bytes before the row that speaks of them, and
bytes never change. So the database is dumped first and the store is copied after: whatever the
dump speaks of lies in the store by then. See docs/decisions/0065-backup.md.
"""

import asyncio
import hashlib
import json
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import psycopg
import typer

from docmill import __version__, app
from docmill.cli.console import err, say, say_json
from docmill.cli.files import write_whole
from docmill.cli.options import AsJson, Data
from docmill.cli.progress import ProgressBoard
from docmill.core import failpoints
from docmill.core.faults import CommandError
from docmill.db import audit, dump, migrate
from docmill.db.audit import AuditedAction
from docmill.db.pool import Connection
from docmill.processes.database import reach_database
from docmill.processes.receipts import name_operator
from docmill.queue import rescue
from docmill.settings import Settings, read_settings
from docmill.storage import open_store
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.moving import copy_store

DUMP: Final = "database.dump"
ABOUT: Final = "backup.json"
STORE: Final = "store"
LISTED: Final = 20  # keys that are named; more are counted

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the backup.")]
NoStore = Annotated[
    bool,
    typer.Option("--no-store", help="Only the database, if the files are backed up elsewhere."),
]


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """`backup.json`: what the folder holds, and by what its dump is known."""

    docmill: str
    began_at: str
    ended_at: str
    dump_sha256: str
    dump_bytes: int
    objects: int | None
    copied: int | None
    jobs: int
    audit_head: str


def back_up(
    folder: Folder, no_store: NoStore = False, as_json: AsJson = False, data: Data = None
) -> None:
    """Back up the database and the stored files to a folder, while docmill runs.

    Use the same folder again, and only new files are copied. The folder is a complete backup at
    every moment: a new dump replaces the old one only when all its files are there.

    The folder contains documents and keys: protect it like docmill itself. It does not contain
    settings, or files in watched buckets.

    docmill backup /backups/docmill
    """
    settings = read_settings(data=data)
    failpoints.arm(settings.failpoints)
    with ExitStack() as stack:
        url = reach_database(settings, stack)
        make_folder(folder)
        facts = asyncio.run(_back_up(settings, url, folder, with_store=not no_store, quiet=as_json))
    if as_json:
        say_json(asdict(facts))
    else:
        say(f"{facts.jobs} jobs, {facts.dump_bytes} bytes of database"
            + (f", {facts.objects} files of which {facts.copied} are new" if not no_store else "")
            + f" are in {folder}.")  # fmt: skip


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise CommandError(
            f"{folder} can't be made: {exc.strerror}.\nGive a folder that you may write to."
        ) from exc


async def _back_up(
    settings: Settings, url: str, folder: Path, *, with_store: bool, quiet: bool
) -> BackupFacts:
    began_at = datetime.now(UTC)
    async with await psycopg.AsyncConnection.connect(url) as conn:
        done = AuditedAction(name_operator(), "backup.made", "docmill")
        await audit.record(conn, done, after={"docmill": __version__, "store": with_store})
    fresh = folder / f"{DUMP}.new"
    await asyncio.to_thread(dump.write_dump, url, fresh)
    failpoints.hit("backup.dumped")
    counted = _StoreCounts()
    if with_store:
        async with AsyncExitStack() as stack:
            source = app.open_stores(settings)
            stack.push_async_callback(source.close)
            board = stack.enter_context(ProgressBoard(err, quiet=quiet))
            await copy_store(source, open_store(str(folder / STORE)), counted.note(board))
    fresh.replace(folder / DUMP)
    async with await psycopg.AsyncConnection.connect(url) as conn:
        jobs = await (await conn.execute("SELECT count(*) FROM jobs")).fetchone()
        head = (await audit.verify(conn)).head
    facts = BackupFacts(
        __version__, began_at.isoformat(), datetime.now(UTC).isoformat(),
        await asyncio.to_thread(_hash_file, folder / DUMP), (folder / DUMP).stat().st_size,
        counted.objects if with_store else None, counted.copied if with_store else None,
        jobs[0] if jobs else 0, head,
    )  # fmt: skip
    with write_whole(folder / ABOUT, mode=0o600) as file:
        file.write(json.dumps(asdict(facts), indent=1).encode() + b"\n")
    return facts


class _StoreCounts:
    def __init__(self) -> None:
        self.objects: int = 0
        self.copied: int = 0

    def note(self, board: ProgressBoard) -> Any:
        line = board.line("files")

        def count(_: ObjectInfo, new: bool) -> None:
            self.objects += 1
            self.copied += new
            line.converting(0, f"{self.objects} files, {self.copied} new")

        return count


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def restore(
    folder: Folder, no_store: NoStore = False, as_json: AsJson = False, data: Data = None
) -> None:
    """Restore a backup into an empty database and a store, here or on another machine.

    Then start docmill as usual: waiting jobs continue, running ones start again, and sessions,
    keys and webhooks work as before. Exit 1 if files are missing that the database refers to;
    each is named, and everything else is restored.

    docmill restore /backups/docmill --data /srv/docmill
    """
    settings = read_settings(data=data)
    facts = _read_facts(folder)
    with ExitStack() as stack:
        url = reach_database(settings, stack)
        if not dump.is_empty(url):
            raise CommandError(
                "There is a docmill in this database already.\n"
                "Give an empty one: another DATABASE_URL, or another --data."
            )
        dump.read_dump(url, folder / DUMP)
        told = asyncio.run(_restore(settings, url, folder, with_store=not no_store, quiet=as_json))
    told |= {"backup": facts}
    if as_json:
        say_json(told)
    else:
        _tell(told)
    if told["missing"]:
        raise typer.Exit(1)


def _read_facts(folder: Path) -> dict[str, Any]:
    """Raises CommandError where the folder is no whole backup."""
    try:
        facts: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
        found = _hash_file(folder / DUMP)
    except (OSError, ValueError) as exc:
        raise CommandError(
            f"{folder} holds no whole backup.\nGive the folder that `docmill backup` wrote."
        ) from exc
    if found != facts["dump_sha256"]:
        raise CommandError(
            f"{folder / DUMP} is not what was written: it is damaged, or a backup ended in its "
            "last moment.\nTake another copy of the folder, or run `docmill backup` again."
        )
    return facts


async def _restore(
    settings: Settings, url: str, folder: Path, *, with_store: bool, quiet: bool
) -> dict[str, Any]:
    await migrate.migrate(url)  # a newer docmill; and the rights of the web's role
    counted, store = _StoreCounts(), app.open_stores(settings)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        if with_store:
            board = stack.enter_context(ProgressBoard(err, quiet=quiet))
            await copy_store(open_store(str(folder / STORE)), store, counted.note(board))
        async with await psycopg.AsyncConnection.connect(url) as conn:
            released = await _release_jobs(conn)
            missing = await _find_missing(conn, store)
            verdict = await audit.verify(conn)
            done = AuditedAction(name_operator(), "backup.restored", "docmill")
            after = {"released": released, "missing": len(missing)}
            await audit.record(conn, done, after=after)
    return {
        "files": counted.objects, "released": released, "missing": missing,
        "audit_is_whole": verdict.broken_at is None, "audit_head": verdict.head,
    }  # fmt: skip


RUNNING: Final = "SELECT id FROM jobs WHERE status = 'processing' ORDER BY id"


async def _release_jobs(conn: Connection) -> int:
    """Those that were under way: their workers are not here."""
    rows = await (await conn.execute(RUNNING)).fetchall()
    return sum([await rescue.clear_lease(conn, row[0]) for row in rows])


# Watched buckets hold their own: what lies there has a key that no store knows.
REFERENCED: Final = """
SELECT upload_key FROM documents WHERE upload_key IS NOT NULL AND upload_key NOT LIKE 'objects/%'
UNION ALL
SELECT r.key FROM results r JOIN jobs j ON j.id = r.job_id AND j.claim = r.claim
 WHERE coalesce(j.result_key, j.reading_key) IS NOT NULL
"""


async def _find_missing(conn: Connection, store: Store) -> list[str]:
    """What the database speaks of and the store does not have."""
    missing: list[str] = []
    async with conn.cursor("referenced") as cur:
        await cur.execute(REFERENCED)
        async for (key,) in cur:
            if await store.head(key) is None:
                missing.append(key)
    return missing


def _tell(told: dict[str, Any]) -> None:
    say(f"{told['backup']['jobs']} jobs and {told['files']} files are restored; "
        f"{told['released']} jobs that were under way begin again.")  # fmt: skip
    if not told["audit_is_whole"]:
        say("The audit log is not whole: `docmill audit verify` says where.")
    for key in told["missing"][:LISTED]:
        err.print(f"missing: {key}", markup=False)
    if told["missing"]:
        err.print(f"{len(told['missing'])} files are missing.", markup=False)
    else:
        say("Nothing is missing. Start docmill.")
