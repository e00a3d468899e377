"""docmill read: a pipeline over files of this machine, each in a confined process of its own."""

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from docmill import app
from docmill.app import StartError
from docmill.cli.console import complain, err, say, say_json
from docmill.cli.files import (
    ENDINGS,
    OpenDocument,
    UnreadableFileError,
    list_documents,
    open_document,
    printable_path,
    write_whole,
)
from docmill.core import field_request, installed
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.documents import confined, content_types
from docmill.documents.confined import ConfinedReader, ReadRequest
from docmill.invoices.profile import parse_profile
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, RunOutcome, RunReturned
from docmill.sandbox.pool import SandboxPool
from docmill.settings import read_settings

# A pool of children takes no more of the machine than it has, unless somebody says so.
CPUS: Final = os.cpu_count() or 1
EVAL_SECONDS: Final = 120.0  # of CPU for one file: scans take long, and nobody waits for one
ARTIFACT_ENDINGS: Final = {"application/xml": ".xml", "application/pdf": ".pdf"}


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What became of one file; `code` is empty when it was read."""

    file: str
    sha256: str
    code: str
    message: str
    seconds: float
    memory_bytes: int


Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Files and folders to read.")]
Mapped = Annotated[str | None, typer.Option(help="Also write the file that this mapping makes.")]
ProfileFile = Annotated[
    Path | None, typer.Option(help="A JSON file with your settings: tin, rates ..")
]


def read_files(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="Such as extract.")],
    files: Files,
    out: Annotated[Path, typer.Option(help="Folder for the results; created if missing.")],
    jobs: Annotated[int, typer.Option(min=1, help="Files at a time.", show_default="CPUs")] = CPUS,
    seconds: Annotated[float, typer.Option(min=1, help="Maximum CPU seconds for one file.")] = 25,
    mapping: Mapped = None,
    profile: ProfileFile = None,
    fields: Annotated[str | None, typer.Option(help=field_request.HELP, show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one row per file.")] = False,
) -> None:
    """Run a pipeline on local files, without a server or database.

    Each file is read in a confined process, as a worker does it, and leaves OUT/<sha256>.json:
    what the pipeline found, or {"error": {"code", "message"}}. With --mapping it also writes
    OUT/<sha256>.xml. From a folder it reads every file that the pipeline accepts. A file that
    can't be read does not fail the command; one that can't be opened does, after the others are
    done.

    docmill read extract letter.pdf --out results

    docmill read extract scans/*.pdf --out results --jobs 2 --seconds 120

    docmill read extract bill.pdf --out results --fields invoice_no:id,total:amount,due:date

    docmill read invoice invoices/ --out results --mapping ubl_invoice_v1
    """
    wanted, catalog = plan_reading(pipeline, mapping, profile, fields)
    files = _list_files(files, catalog.accepts[pipeline])
    began = time.monotonic()
    reader = FileReader(wanted, catalog, out)
    _run_reader(reader, files, out, (read_limits(seconds), jobs))
    if as_json:
        say_json([asdict(row) for row in reader.rows])
    else:
        say(_summarise(reader.rows, time.monotonic() - began))
    if reader.unreadable:
        raise typer.Exit(1)


def read_quietly(pipeline: str, files: list[Path], out: Path, jobs: int) -> list[ReadFile]:
    """Files through a pipeline into a folder, with a bar; a row for each that could be opened."""
    catalog = _load_catalog(pipeline)
    reader = FileReader(ReadRequest(pipeline), catalog, out)
    _run_reader(reader, files, out, (read_limits(EVAL_SECONDS), jobs))
    return reader.rows


def _run_reader(
    reader: "FileReader", files: list[Path], out: Path, limits: tuple[RunLimits, int]
) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _show_progress(len(files)) as bar:
            asyncio.run(reader.read_all(files, limits[0], bar, at_a_time=limits[1]))
    except OSError as exc:
        raise StartError(f"Can't write to {out}: {exc.strerror}\nChoose another --out.") from exc


def plan_reading(
    pipeline: str, mapping: str | None, profile: Path | None, fields: str | None
) -> tuple[ReadRequest, PipelineCatalog]:
    """What the options of a command ask for. Raises BadParameter for what can't be had."""
    catalog = _load_catalog(pipeline)
    _check_mapping(catalog, pipeline, mapping)
    options = {**_field_options(catalog, pipeline, fields), **_read_profile(profile)}
    return ReadRequest(pipeline, mapping, options), catalog


def _check_mapping(catalog: PipelineCatalog, pipeline: str, mapping: str | None) -> None:
    known = catalog.mappings.get(pipeline, ())
    if mapping is not None and mapping not in known:
        says = f"there is no {mapping!r} of {pipeline}; known: {', '.join(known) or 'none'}."
        raise typer.BadParameter(says, param_hint="--mapping")


def _read_profile(profile: Path | None) -> dict[str, Any]:
    """As an owner's settings go with a job."""
    if profile is None:
        return {}
    try:
        found: Any = json.loads(profile.read_bytes())
        parse_profile(found)
    except (OSError, ValueError, AttributeError, TypeError) as exc:
        raise typer.BadParameter(f"{profile}: {exc}", param_hint="--profile") from exc
    return {"profile": found}


def _list_files(given: list[Path], accepts: Sequence[str]) -> list[Path]:
    taken = {ending for ending, kind in ENDINGS.items() if kind in accepts}
    files, skipped = list_documents(given, taken)
    if skipped:
        err.print(f"{skipped} in folders left out: not {', '.join(sorted(taken))}", markup=False)
    return files


def read_limits(seconds: float) -> RunLimits:
    """As a worker's, with a budget of the caller's own."""
    cpu = timedelta(seconds=seconds)
    return replace(
        app.sandbox_limits(read_settings()),
        cpu=cpu,
        cpu_per_mb=timedelta(),
        cpu_setting="--seconds",
    )


def _field_options(
    catalog: PipelineCatalog, pipeline: str, fields: str | None
) -> Mapping[str, Any]:
    """The fields asked for, as a job would keep them."""
    if fields is None:
        return {}
    try:
        options = {field_request.OPTION: field_request.parse_fields(fields)}
        content_types.check_field_request(catalog, pipeline, options)
    except DocmillError as exc:
        raise typer.BadParameter(f"{exc.detail}.", param_hint="--fields") from exc
    return options


def _load_catalog(name: str) -> PipelineCatalog:
    found = installed.find_installed()
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise typer.BadParameter(
            f"there is no {name!r}; installed: {known}.", param_hint="PIPELINE"
        )
    try:
        return confined.load_catalog(name)
    except (ImportError, AttributeError, TypeError) as exc:
        raise StartError(_explain_broken(name, f"{type(exc).__name__}: {exc}")) from exc


def _explain_broken(name: str, why: str) -> str:
    return f"The pipeline {name} can't be loaded: {why}\nInstall it again, with what it needs."


@contextmanager
def _show_progress(total: int) -> Generator[Progress]:
    """How many are done, and what the running ones are at; nothing where nobody watches."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[stage]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        bar.add_task("files", total=total, stage="")
        yield bar


class FileReader:
    """Reads files through one fork server, some at a time, and keeps a row for each."""

    def __init__(self, wanted: ReadRequest, catalog: PipelineCatalog, out: Path) -> None:
        self.rows: list[ReadFile] = []
        self.unreadable: int = 0
        self._wanted: ReadRequest = wanted
        self._offer: PipelineCatalog = catalog
        self._out: Path = out
        self._bar: Progress = Progress(disable=True)

    async def read_all(
        self, files: Iterable[Path], limits: RunLimits, bar: Progress, *, at_a_time: int
    ) -> None:
        waiting, self._bar = iter(files), bar
        async with SandboxPool(limits, pipelines=[self._wanted.pipeline]) as sandbox:
            await sandbox.warm()
            if why := sandbox.broken.get(self._wanted.pipeline):
                raise StartError(
                    _explain_broken(self._wanted.pipeline, why.strip().rpartition("\n")[2])
                )
            await asyncio.gather(*(self._read_some(waiting, sandbox) for _ in range(at_a_time)))

    async def _read_some(self, waiting: Iterator[Path], sandbox: SandboxPool) -> None:
        for path in waiting:
            try:
                with open_document(path) as document:
                    row = await self._read_one(document, sandbox)
            except UnreadableFileError as exc:
                self.unreadable += 1
                complain(f"{printable_path(path)}: {exc}")
            else:
                self.rows.append(row)
                if row.code:
                    err.print(f"{printable_path(path)}: {row.code}  {row.message}", markup=False)
            self._bar.advance(self._bar.task_ids[0])

    async def _read_one(self, document: OpenDocument, sandbox: SandboxPool) -> ReadFile:
        began = time.monotonic()
        sha256 = await asyncio.to_thread(document.sha256)
        ran = await self._run(document, sha256, sandbox)
        seconds = round(time.monotonic() - began, 3)
        with write_whole(self._out / f"{sha256}.json") as file:
            file.write(_encode_failure(ran) if isinstance(ran, RunFailed) else ran.data)
        if isinstance(ran, RunReturned) and ran.artifact:
            ending = ARTIFACT_ENDINGS.get(ran.artifact.content_type, ".out")
            with write_whole(self._out / f"{sha256}{ending}") as file:
                file.write(ran.artifact.content)
        code = ran.code if isinstance(ran, RunFailed) else ""
        says = ran.message if isinstance(ran, RunFailed) else ""
        return ReadFile(str(document.path), sha256, code, says, seconds, ran.usage.memory_bytes)

    async def _run(self, document: OpenDocument, sha256: str, sandbox: SandboxPool) -> RunOutcome:
        row = self._bar.add_task(document.filename, total=100, stage="")

        def show(percent: int, stage: str) -> None:
            self._bar.update(row, completed=percent, stage=stage)

        try:
            reader = ConfinedReader(sandbox, self._offer, self._wanted)
            return await reader.read(document, sha256, note=show)
        finally:
            self._bar.remove_task(row)


def _encode_failure(failed: RunFailed) -> bytes:
    said = {"code": failed.code, "message": failed.message, "detail": failed.detail}
    return json.dumps({"error": said}, ensure_ascii=False).encode()


def _summarise(rows: Sequence[ReadFile], seconds: float) -> str:
    codes = Counter(row.code for row in rows if row.code)
    by_code = ", ".join(f"{code} {count}" for code, count in codes.most_common())
    failed = f"{codes.total()} ({by_code})" if by_code else "0"
    return f"ok {len(rows) - codes.total()}, failed {failed}, {seconds:.1f} s"
