"""docmill compare: two ways to read the same documents, held against each other on history."""

import asyncio
import subprocess
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Final

import typer

from docmill.cli.console import err, out, say, say_json
from docmill.cli.options import AsJson, Data
from docmill.cli.progress import ProgressBoard
from docmill.core.comparison import Difference, compare
from docmill.core.faults import CommandError, DocmillError
from docmill.invoices.mapping_commands import choose_mapping
from docmill.processes import history
from docmill.processes.database import reach_database
from docmill.processes.history import (
    FolderSide,
    HistoryDocument,
    MappingSide,
    ReadSide,
    Side,
    StoredSide,
)
from docmill.processes.replay import print_fields
from docmill.processes.reread import StoredReader, open_reader
from docmill.settings import Settings, read_settings
from docmill.storage.checked import Expected, open_checked

STORED, APPROVED, NOW = "stored", "approved", "now"
READERS: Final = ("rules", "model", "both")
MAPPING: Final = "mapping:"
SIDES: Final = (
    "stored (what was read then), approved (what people made of it), now (what the installed "
    "version reads), rules, model or both (now, by that reader), mapping:NAME (the XML of it), or "
    "a folder made by `docmill read --out`"
)
SAME, DIFFERENT, UNKNOWN = "same", "different", "unknown"


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """`reason` says why one of the sides said nothing."""

    job: str
    pipeline: str
    outcome: str
    differences: list[Difference] = field(default_factory=list[Difference])
    reason: str = ""


def compare_readings(
    old: Annotated[str, typer.Argument(metavar="OLD", help=f"One side: {SIDES}.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The other side.")],
    pipeline: Annotated[str | None, typer.Option(help="Only of this pipeline.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many documents; 0 for all.")] = 100,
    python: Annotated[
        Path | None,
        typer.Option(help="The python of another installation, which reads the side `other`."),
    ] = None,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Compare two readings of the same documents, value by value; nothing is written.

    Compares versions, readers and mappings, on stored invoices and trades. `stored approved`
    shows what people had to correct before they approved.

    Exit 1 if a value differs.

    docmill compare stored now

    docmill compare rules both --pipeline trades --limit 20

    docmill compare mapping:ubl_invoice_v1 mapping:cii_invoice_v1

    docmill compare other now --python /opt/docmill-next/bin/python
    """
    settings = read_settings(data=data)
    wanted = history.list_pipelines(pipeline)
    with ExitStack() as stack:
        url = reach_database(settings, stack)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plan = ComparePlan((old, new), limit, python, folder, quiet=as_json)
        rows = asyncio.run(_run_plan(plan, settings, url, wanted))
    if as_json:
        say_json([asdict(row) for row in rows])
    else:
        _print_rows(rows, (old, new))
    if any(row.differences for row in rows):
        raise typer.Exit(1)


async def _run_plan(
    plan: "ComparePlan", settings: Settings, url: str, wanted: list[str]
) -> "list[ComparedDocument]":
    await history.connect_check(url)
    async with open_reader(settings, url, wanted) as reader:
        return await plan.run(reader, wanted)


@dataclass(frozen=True, slots=True)
class ComparePlan:
    """`folder` is for what another docmill reads."""

    names: tuple[str, str]
    limit: int
    python: Path | None
    folder: Path
    quiet: bool

    async def run(self, reader: StoredReader, pipelines: list[str]) -> list[ComparedDocument]:
        assert reader.pool
        listing = history.list_approved if APPROVED in self.names else history.list_read
        found = listing(reader.pool, pipelines)
        documents = [one async for one in _take(found, self.limit)]
        if OTHER in self.names:
            await self._read_elsewhere(reader, documents)
        sides = [self._choose(name, reader) for name in self.names]
        rows: list[ComparedDocument] = []
        async with AsyncExitStack() as stack:
            board = stack.enter_context(ProgressBoard(err, quiet=self.quiet))
            board.expect(len(documents))
            for document in documents:
                rows.append(await _compare_one(document, sides[0], sides[1]))
                board.advance()
        return rows

    def _choose(self, name: str, reader: StoredReader) -> Side:
        assert reader.pool
        stored = StoredSide(reader.pool, reader.store)
        if name == STORED:
            return stored
        if name == APPROVED:
            return StoredSide(reader.pool, reader.store, approved=True)
        if name == NOW or name in READERS:
            return ReadSide(reader, None if name == NOW else name)
        if name.startswith(MAPPING):
            return MappingSide(stored, choose_mapping(name.removeprefix(MAPPING)))
        folder = self.folder if name == OTHER else Path(name)
        if not folder.is_dir():
            raise typer.BadParameter(f"{name!r} is none of: {SIDES}.", param_hint="OLD or NEW")
        return FolderSide(folder)

    async def _read_elsewhere(self, reader: StoredReader, documents: list[HistoryDocument]) -> None:
        """The stored files are handed to another docmill, as files."""
        if self.python is None:
            raise typer.BadParameter("`other` needs it.", param_hint="--python")
        for pipeline in sorted({one.job.pipeline for one in documents}):
            place = self.folder / f"files-{pipeline}"
            place.mkdir()
            for one in documents:
                if one.job.pipeline == pipeline and one.job.upload_key:
                    await _export_file(reader, one, place)
            words = ["-c", RUN, "read", pipeline, str(place), "--out", str(self.folder)]
            ran = await asyncio.to_thread(
                subprocess.run, [self.python, *words], capture_output=True, text=True, check=False
            )
            if ran.returncode:
                raise CommandError(
                    f"{self.python} can't read {pipeline}: {ran.stderr.strip()[-500:]}\n"
                    "Give the python of an environment that docmill is installed in."
                )


OTHER: Final = "other"
RUN: Final = "import sys; from docmill.cli import main; sys.exit(main())"


async def _take(
    found: AsyncIterator[HistoryDocument], limit: int
) -> AsyncIterator[HistoryDocument]:
    count = 0
    async for one in found:
        if limit and count == limit:
            return
        count += 1
        yield one


async def _export_file(reader: StoredReader, one: HistoryDocument, place: Path) -> None:
    """What is gone from the store has no reading there."""
    wanted = Expected(str(one.job.upload_key), one.job.bytes, one.job.sha256)
    try:
        content = await (await open_checked(reader.store, wanted)).whole()
    except DocmillError:
        return
    await asyncio.to_thread((place / f"{one.job.sha256}.pdf").write_bytes, content)


async def _compare_one(document: HistoryDocument, old: Side, new: Side) -> ComparedDocument:
    about = (str(document.job.id), document.job.pipeline)
    before, after = await old(document), await new(document)
    if isinstance(before, str) or isinstance(after, str):
        reason = before if isinstance(before, str) else str(after)
        return ComparedDocument(*about, UNKNOWN, reason=reason)
    found = compare(before, after)
    return ComparedDocument(*about, DIFFERENT if found else SAME, found)


def _print_rows(rows: list[ComparedDocument], names: tuple[str, str]) -> None:
    for row in rows:
        if row.reason:
            err.print(f"{row.job}: {row.reason}", markup=False)
        for one in row.differences:
            out.print(f"{row.job}: {one.path}: {one.old!r} > {one.new!r}", markup=False)
    print_fields({"differ": [one for row in rows for one in row.differences]})
    counted = Counter(row.outcome for row in rows)
    words = ", ".join(f"{counted[word]} {word}" for word in (SAME, DIFFERENT, UNKNOWN))
    say(f"{len(rows)} documents, {names[0]} against {names[1]}: {words}")
