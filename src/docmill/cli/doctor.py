"""docmill doctor: looks at everything docmill stands on, and says what to do."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from docmill.cli import database_checks, surroundings
from docmill.cli.console import out, say, say_json
from docmill.cli.findings import Finding, State
from docmill.settings import BadSettings, Settings, read

MARKS: Final = {
    State.OK: ("ok  ", "green"),
    State.WARN: ("warn", "yellow"),
    State.FAIL: ("FAIL", "bold red"),
}


def doctor(
    data: Annotated[Path | None, typer.Option(help="The data folder to look at.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one row per check.")] = False,
) -> None:
    """Check the surroundings and say what to do.

    Looks at Python, the reader, the data folder, the disk, the database, the store, the
    confinement of conversions, the pipelines, the port and the clock. Changes nothing, and may run
    while docmill serves. Exit 1 when something has to be mended.

    docmill doctor

    docmill doctor --json | jq '.[] | select(.state != "ok")'
    """
    findings = asyncio.run(_gather(data, show=not as_json))
    if as_json:
        say_json([asdict(finding) for finding in findings])
    bad = sum(finding.state is State.FAIL for finding in findings)
    doubtful = sum(finding.state is State.WARN for finding in findings)
    if not as_json:
        say(f"{len(findings)} checks, {doubtful} to look at, {bad} to mend.")
    if bad:
        raise typer.Exit(1)


async def _gather(data: Path | None, *, show: bool) -> list[Finding]:
    findings: list[Finding] = []
    async for finding in _look(data):
        findings.append(finding)
        if show:
            _print(finding)
    return findings


async def _look(data: Path | None) -> AsyncIterator[Finding]:
    yield surroundings.python()
    yield surroundings.model()
    try:
        settings = read(data=data)
    except BadSettings as exc:
        yield Finding("settings", State.FAIL, str(exc), "Mend this first; the rest depends on it.")
        return
    yield Finding("settings", State.OK, "can be read")
    async for finding in _look_around(settings):
        yield finding


async def _look_around(settings: Settings) -> AsyncIterator[Finding]:
    yield surroundings.reader(settings)
    yield surroundings.data_folder(settings)
    yield surroundings.disk(settings)
    async for finding in database_checks.look(settings):
        yield finding
    yield await surroundings.store(settings)
    async for finding in surroundings.children(settings):
        yield finding
    yield await surroundings.port(settings)


def _print(finding: Finding) -> None:
    mark, style = MARKS[finding.state]
    out.print(Text(mark, style), Text(f"{finding.check:<12}"), Text(finding.says))
    if finding.advice:
        out.print(Text(f"     {'':<12}> {finding.advice}"))
