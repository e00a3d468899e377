"""docmill read: a pipeline over files of this machine, each in a confined process of its own."""

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from docmill.cli import rules
from docmill.cli.console import complain, err, say, say_json
from docmill.cli.documents import OpenDocument, Unreadable, opened, shown
from docmill.cli.files import written_whole
from docmill.core import asked
from docmill.core import pipeline as pipelines
from docmill.core.faults import FAULTS, Faulted
from docmill.core.jobs import Usage
from docmill.ingest import checks
from docmill.ingest.checks import Offer
from docmill.settings import read as read_settings
from docmill.wiring import CannotStart
from docmill.work.child import Failed, Limits, Nursery, Ran, Task

# A pool of children takes no more of the machine than it has, unless somebody says so.
CPUS: Final = os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one file; `code` is empty when it was read."""

    file: str
    sha256: str
    code: str
    message: str
    seconds: float
    memory_bytes: int


def read(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="Such as extract.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="What to read.")],
    out: Annotated[Path, typer.Option(help="Folder for the results; made when missing.")],
    jobs: Annotated[int, typer.Option(min=1, help="Files at a time.", show_default="CPUs")] = CPUS,
    seconds: Annotated[float, typer.Option(min=1, help="Longest time for one file.")] = 25,
    fields: Annotated[str | None, typer.Option(help=asked.SAYS, show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one row per file.")] = False,
) -> None:
    """Run a pipeline on files here, with no server and no database.

    Each file is read in a confined process, as a worker would, and leaves OUT/<sha256>.json: what
    the pipeline found, or {"error": {"code", "message"}}. A file that fails does not fail the
    command; one that can't be opened does, after the others are done.

    docmill read extract letter.pdf --out results

    docmill read extract scans/*.pdf --out results --jobs 2 --seconds 120

    docmill read extract bill.pdf --out results --fields invoice_no:id,total:amount,due:date
    """
    offer = _offer(pipeline)
    options = _options(offer, pipeline, fields)
    limits = rules.limits(read_settings())
    limits = Limits(limits.memory_bytes, limits.stall, timedelta(seconds=seconds))
    began = time.monotonic()
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _bar(len(files)) as bar:
            reader = Reader(pipeline, offer, options, out, bar)
            asyncio.run(reader.read_all(files, limits, at_a_time=jobs))
    except OSError as exc:
        raise CannotStart(f"Can't write to {out}: {exc.strerror}\nChoose another --out.") from exc
    if as_json:
        say_json([asdict(row) for row in reader.rows])
    else:
        say(_summary(reader.rows, time.monotonic() - began))
    if reader.unreadable:
        raise typer.Exit(1)


def _options(offer: Offer, pipeline: str, fields: str | None) -> Mapping[str, Any]:
    """The fields asked for, as a job would keep them."""
    if fields is None:
        return {}
    try:
        options = {asked.OPTION: asked.option_of(fields)}
        checks.check_asked(offer, pipeline, options)
    except Faulted as exc:
        raise typer.BadParameter(f"{exc.detail}.", param_hint="--fields") from exc
    return options


def _offer(name: str) -> Offer:
    found = pipelines.found()
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise typer.BadParameter(
            f"there is no {name!r}; installed: {known}.", param_hint="PIPELINE"
        )
    try:
        one = pipelines.load(name)
    except (ImportError, AttributeError, TypeError) as exc:
        raise CannotStart(_broken(name, f"{type(exc).__name__}: {exc}")) from exc
    return Offer({name: one.accepts}, {}, frozenset({name} if pipelines.asks(one) else ()))


def _broken(name: str, why: str) -> str:
    return f"The pipeline {name} can't be loaded: {why}\nInstall it again, with what it needs."


@contextmanager
def _bar(total: int) -> Generator[Progress]:
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


class Reader:
    """Reads files through one nursery, some at a time, and keeps a row for each."""

    def __init__(
        self, pipeline: str, offer: Offer, options: Mapping[str, Any], out: Path, bar: Progress
    ) -> None:
        self.rows: list[Row] = []
        self.unreadable: int = 0
        self._pipeline: str = pipeline
        self._offer: Offer = offer
        self._options: Mapping[str, Any] = options
        self._out: Path = out
        self._bar: Progress = bar

    async def read_all(self, files: Iterable[Path], limits: Limits, *, at_a_time: int) -> None:
        waiting = iter(files)
        async with Nursery(limits, pipelines=[self._pipeline]) as nursery:
            await nursery.warm()
            if why := nursery.broken.get(self._pipeline):
                raise CannotStart(_broken(self._pipeline, why.strip().rpartition("\n")[2]))
            await asyncio.gather(*(self._read_some(waiting, nursery) for _ in range(at_a_time)))

    async def _read_some(self, waiting: Iterator[Path], nursery: Nursery) -> None:
        for path in waiting:
            try:
                with opened(path) as document:
                    row = await self._read_one(document, nursery)
            except Unreadable as exc:
                self.unreadable += 1
                complain(f"{shown(path)}: {exc}")
            else:
                self.rows.append(row)
                if row.code:
                    err.print(f"{shown(path)}: {row.code}  {row.message}", markup=False)
            self._bar.advance(self._bar.task_ids[0])

    async def _read_one(self, document: OpenDocument, nursery: Nursery) -> Row:
        began = time.monotonic()
        sha256 = await asyncio.to_thread(document.sha256)
        ran = await self._run(document, sha256, nursery)
        seconds = round(time.monotonic() - began, 3)
        with written_whole(self._out / f"{sha256}.json") as file:
            file.write(_failure(ran) if isinstance(ran, Failed) else ran.data)
        code = ran.code if isinstance(ran, Failed) else ""
        says = FAULTS[code].says if code else ""
        return Row(str(document.path), sha256, code, says, seconds, ran.usage.memory_bytes)

    async def _run(self, document: OpenDocument, sha256: str, nursery: Nursery) -> Ran:
        try:
            kind = self._kind(document)
        except Faulted as exc:
            return Failed(exc.fault.code, exc.detail, "", Usage())
        task = Task(self._pipeline, document.filename, kind, sha256, options=self._options)
        row = self._bar.add_task(document.filename, total=100, stage="")

        def show(percent: int, stage: str) -> None:
            self._bar.update(row, completed=percent, stage=stage)

        try:
            return await nursery.run(task, document.fd, show)
        finally:
            self._bar.remove_task(row)

    def _kind(self, document: OpenDocument) -> str:
        head = document.head(checks.HEAD)
        if not head:
            raise Faulted("EMPTY_FILE")
        return checks.check_type(self._offer, self._pipeline, head, document.tail(checks.TAIL))


def _failure(failed: Failed) -> bytes:
    said = {"code": failed.code, "message": FAULTS[failed.code].says, "detail": failed.detail}
    return json.dumps({"error": said}, ensure_ascii=False).encode()


def _summary(rows: Sequence[Row], seconds: float) -> str:
    codes = Counter(row.code for row in rows if row.code)
    by_code = ", ".join(f"{code} {count}" for code, count in codes.most_common())
    failed = f"{codes.total()} ({by_code})" if by_code else "0"
    return f"ok {len(rows) - codes.total()}, failed {failed}, {seconds:.1f} s"
