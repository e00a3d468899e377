"""docmill doctor --deep: every stored object is read and held against its row."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from docmill.app import list_addresses, open_stores
from docmill.cli.console import err, out, say, say_json
from docmill.core.faults import CommandError, DocmillError
from docmill.db.pool import Pool, open_pool, read_connection
from docmill.documents import stored
from docmill.documents.places import PlacedStore
from docmill.documents.stored import ORIGINAL, RESULT, StoredObject, expect
from docmill.processes import checks, database
from docmill.processes.checks import CheckState, Finding
from docmill.settings import ConfigError, Settings, read_settings
from docmill.storage.checked import open_checked
from docmill.storage.contract import Store

PAGE: Final = 200
MISSING: Final = "missing"
DAMAGED: Final = "damaged"
UNREAD: Final = "unread"
MEANS: Final = {"EXPIRED": MISSING, "DAMAGED": DAMAGED}
SAYS: Final = {
    MISSING: "is missing in the store",
    DAMAGED: "is damaged",
    UNREAD: "can't be read right now",
}
ADVICE: Final = {
    ORIGINAL: "Bring it back from a backup, or upload the document again.",
    RESULT: "Bring it back from a backup, or reprocess the document.",
}


async def check_objects(settings: Settings) -> AsyncIterator[Finding]:
    """One finding for each object that is not as it should be, and one that adds them up."""
    url = settings.database_url.get_secret_value() if settings.database_url else None
    url = url or database.find_running(settings.data)
    if url is None:
        advice = "Set DATABASE_URL, or start `docmill serve` first."
        yield Finding("objects", CheckState.FAIL, "the database does not run", advice)
        return
    try:
        own = open_stores(settings)
        async with open_pool(url, size=2) as pool:
            store = PlacedStore(own, pool, list_addresses(settings))
            async for finding in _check_all_objects(pool, store):
                yield finding
            await store.close()
    except CommandError as exc:
        what, _, advice = str(exc).partition("\n")
        yield Finding("objects", CheckState.FAIL, what, advice)
    except DocmillError as exc:
        yield Finding("objects", CheckState.FAIL, exc.fault.says, exc.fault.advice)


async def _check_all_objects(pool: Pool, store: Store) -> AsyncIterator[Finding]:
    async with read_connection(pool) as conn:
        total = await stored.count_objects(conn)
    seen: Counter[str] = Counter()
    with _show_progress() as bar:
        task = bar.add_task("objects", total=total)
        async for row in _list_objects(pool):
            trouble = await _check_object(pool, store, row)
            seen[trouble or "whole"] += 1
            bar.advance(task)
            if trouble:
                yield _describe_object(row, trouble)
    yield _sum_up(seen)


def _show_progress() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


async def _list_objects(pool: Pool) -> AsyncIterator[StoredObject]:
    for kind in (ORIGINAL, RESULT):
        async for row in _list_kind(pool, kind):
            yield row


async def _list_kind(pool: Pool, kind: str) -> AsyncIterator[StoredObject]:
    after = ""
    while True:
        async with read_connection(pool) as conn:
            page = await stored.list_objects(conn, kind, after=after, limit=PAGE)
        for row in page:
            yield row
        if len(page) < PAGE:
            return
        after = page[-1].key


async def _check_object(pool: Pool, store: Store, row: StoredObject) -> str | None:
    """What is wrong with it; nothing when it went the way of its row meanwhile."""
    try:
        (await open_checked(store, expect(row))).close()
    except DocmillError as exc:
        async with read_connection(pool) as conn:
            still = await stored.find_object(conn, row.key)
        return MEANS.get(exc.fault.code, UNREAD) if still else None
    return None


def _describe_object(row: StoredObject, trouble: str) -> Finding:
    ids = {"kind": row.kind, "trouble": trouble, "document": str(row.document_id), "key": row.key}
    whose = f"document {row.document_id}"
    if row.job_id:
        ids["job"] = str(row.job_id)
        whose = f"job {row.job_id}"
    says = f"the {row.kind} of {whose} {SAYS[trouble]}"
    return Finding("object", CheckState.FAIL, says, ADVICE[row.kind], ids)


def _sum_up(seen: Counter[str]) -> Finding:
    says = f"{seen.total():,} read, {seen[DAMAGED]:,} damaged, {seen[MISSING]:,} missing"
    if seen[UNREAD]:
        says += f", {seen[UNREAD]:,} could not be read"
    state = CheckState.OK if seen.total() == seen["whole"] else CheckState.FAIL
    return Finding("objects", state, says)


MARKS: Final = {
    CheckState.OK: ("ok  ", "green"),
    CheckState.WARN: ("warn", "yellow"),
    CheckState.FAIL: ("FAIL", "bold red"),
}


def run_doctor(
    data: Annotated[Path | None, typer.Option(help="The data folder to look at.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one row per check.")] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also read every stored object; takes a while.")
    ] = False,
) -> None:
    """Check the installation and say what to do.

    Checks Python, the reader, the data folder, the disk, the database, the store, the confinement
    of conversions, the pipelines, the port and the clock. It changes nothing, and you can run it
    while docmill runs. Exit 1 if something must be fixed.

    With --deep it also reads every result and original and compares it with its row. It lists
    damaged and missing ones with the ids of their job and document.

    docmill doctor

    docmill doctor --deep

    docmill doctor --json | jq '.[] | select(.state != "ok")'
    """
    findings = asyncio.run(_gather_findings(data, show=not as_json, deep=deep))
    if as_json:
        say_json([asdict(finding) for finding in findings])
    bad = sum(finding.state is CheckState.FAIL for finding in findings)
    doubtful = sum(finding.state is CheckState.WARN for finding in findings)
    if not as_json:
        say(f"{len(findings)} checks, {doubtful} warnings, {bad} to fix.")
    if bad:
        raise typer.Exit(1)


async def _gather_findings(data: Path | None, *, show: bool, deep: bool) -> list[Finding]:
    findings: list[Finding] = []
    async for finding in _run_checks(data, deep=deep):
        findings.append(finding)
        if show:
            _print_finding(finding)
    return findings


async def _run_checks(data: Path | None, *, deep: bool) -> AsyncIterator[Finding]:
    yield checks.check_python()
    yield checks.check_model()
    yield checks.check_ocr()
    try:
        settings = read_settings(data=data)
    except ConfigError as exc:
        yield Finding(
            "settings", CheckState.FAIL, str(exc), "Mend this first; the rest depends on it."
        )
        return
    yield Finding("settings", CheckState.OK, "can be read")
    async for finding in _check_surroundings(settings):
        yield finding
    if deep:
        async for finding in check_objects(settings):
            yield finding


async def _check_surroundings(settings: Settings) -> AsyncIterator[Finding]:
    yield checks.check_reader(settings)
    yield checks.check_data_folder(settings)
    yield checks.check_disk(settings)
    async for finding in checks.check_database(settings):
        yield finding
    yield await checks.check_store(settings)
    async for finding in checks.check_sandbox(settings):
        yield finding
    yield await checks.check_port(settings)


def _print_finding(finding: Finding) -> None:
    mark, style = MARKS[finding.state]
    out.print(Text(mark, style), Text(f"{finding.check:<12}"), Text(finding.says))
    if finding.advice:
        out.print(Text(f"     {'':<12}> {finding.advice}"))
