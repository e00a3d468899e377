"""docmill batch: millions of documents to Parquet, on this machine or on a Ray cluster."""

import asyncio
import importlib
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Final, Self

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from docmill import app
from docmill.app import StartError
from docmill.cli.console import complain, err, say
from docmill.cli.progress import LINE_SECONDS, describe_pace
from docmill.core import failpoints, field_request, owners
from docmill.core.extras import advise_extra
from docmill.core.faults import DocmillError
from docmill.core.owners import OwnerKey
from docmill.documents.confined import ReadRequest
from docmill.processes.read import CPUS, Mapped, ProfileFile, plan_reading, read_limits
from docmill.settings import read_settings
from docmill.storage import folder_of, open_store

OWNER_KINDS: Final = ("user", "desk", "local")
STOPPED: Final = 130  # as the shell says of Ctrl-C


class EngineName(StrEnum):
    LOCAL = "local"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """What the command was asked for, besides what to read and where to."""

    engine: EngineName
    jobs: int | None
    shard: int
    limit: int | None
    everything: bool
    retry_failed: bool


Source = Annotated[
    str, typer.Argument(metavar="IN", help="A folder, or s3://, gs:// or az:// and a prefix.")
]
Out = Annotated[str, typer.Argument(metavar="OUT", help="Where the output goes; the same forms.")]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        help="What reads: this machine, or the Ray cluster at RAY_ADDRESS (without it, Ray here). "
        "For Spark and Dask see docs/operate/batch.md."
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Documents at a time, or actors of Ray.", show_default="CPUs"),
]
Fields = Annotated[str | None, typer.Option(help=field_request.HELP, show_default=False)]
Into = Annotated[
    str | None,
    typer.Option(
        metavar="DATABASE_URL", help="Then load what was read into a docmill; implies --rows."
    ),
]
OwnerOption = Annotated[
    str, typer.Option(metavar="OWNER", help="Owner of the loaded documents: user:NAME, desk:NAME.")
]
Rows = Annotated[bool, typer.Option("--rows", help="Also the rows of tables: fields, chunks ...")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N, to try it.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Take every object, whatever its name ends in.")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Read failed documents again.")]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Print progress and the end as lines of JSON.")
]


def run_batch(
    source: Source,
    out: Out,
    pipeline: Annotated[str, typer.Option(help="Such as extract.")],
    engine: EngineOption = EngineName.LOCAL,
    jobs: Jobs = None,
    seconds: Annotated[float, typer.Option(min=1, help="Maximum CPU time for a document.")] = 25,
    mapping: Mapped = None,
    profile: ProfileFile = None,
    fields: Fields = None,
    rows: Rows = False,
    shard: Annotated[int, typer.Option(min=1, help="Documents in one part, at most.")] = 500,
    limit: Limit = None,
    everything: Everything = False,
    retry_failed: RetryFailed = False,
    into: Into = None,
    owner: OwnerOption = owners.LOCAL.key,
    as_json: JsonLines = False,
) -> None:
    """Read millions of documents from a folder or a bucket into Parquet.

    IN is listed once. Its documents are read in shards, each document in a confined process, and
    each shard becomes one file in OUT/parts, written only if it does not exist. If anything dies,
    run the same command again: it continues, and no document is lost or doubled. Documents that
    could not be read are in OUT/failed, as lines of JSON. OUT/_SUCCESS means that all is done.

    docmill batch scans/ out/ --pipeline extract --limit 100

    docmill batch s3://lake/invoices s3://lake/read --pipeline invoice --engine ray

    docmill batch scans/ out/ --pipeline extract --retry-failed

    docmill batch scans/ out/ --pipeline extract --into postgresql://me@db/docmill --owner user:ann
    """
    wanted, catalog = plan_reading(pipeline, mapping, profile, fields)
    wanted = replace(wanted, rows=rows or into is not None)
    _check_asked(source, owner if into else None)
    options = BatchOptions(engine, jobs, shard, limit, everything, retry_failed)
    command = BatchCommand(source, out, wanted, catalog.accepts[pipeline], options)
    _run(command, seconds, (into, OwnerKey(owner)) if into else None, as_json=as_json)


def _check_asked(source: str, owner: str | None) -> None:
    _check_source(source)
    if owner is not None:
        _check_owner(owner)


def _run(
    command: "BatchCommand", seconds: float, load: tuple[str, OwnerKey] | None, *, as_json: bool
) -> None:
    """Read all, then load it where that is wanted; whatever stops it says how to go on."""
    failpoints.arm(read_settings().failpoints)
    board = BatchBoard(as_json=as_json)
    try:
        with board:
            if load is not None:
                asyncio.run(app.check_database(read_settings(), load[0]))
            ended = asyncio.run(command.run(seconds, board))
            board.finish()
            _print_end(ended, command.out, board, as_json=as_json)
            if load is not None:
                asyncio.run(_load(command, *load, board))
    except KeyboardInterrupt:
        _explain_stop(board)
        raise typer.Exit(STOPPED) from None
    except DocmillError as exc:
        raise StartError(_explain_fault(exc)) from exc


def _check_source(source: str) -> None:
    """A folder that is missing or closed to us is not an empty one."""
    folder = folder_of(source)
    if folder is None:
        return
    if not folder.is_dir():
        raise StartError(f"IN is no folder: {folder}\nName a folder, or s3://, gs:// or az://.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise StartError(f"IN can't be listed: {folder}: Permission denied\nAsk for the right.")


def _check_owner(owner: str) -> None:
    kind, _, name = owner.partition(":")
    if kind not in OWNER_KINDS or not name:
        says = f"{owner!r} is no owner; such as user:ann, desk:mailroom or {owners.LOCAL.key}."
        raise typer.BadParameter(says, param_hint="--owner")


def _explain_fault(exc: DocmillError) -> str:
    """What was said, and that nothing is lost."""
    advice = "Check the address and your rights there" if exc.fault.code == "IO_ERROR" else ""
    return (
        f"{exc.fault.final}: {exc.detail or exc.fault.code}\n"
        f"{advice or exc.fault.advice.rstrip('.')}; run the same command again to go on."
    )


def _explain_stop(board: "BatchBoard") -> None:
    done = (
        f"{board.done:,} of {board.total:,} documents are done" if board.total else "Nothing lost"
    )
    complain(f"Stopped. {done}.", f"To go on: {shlex.join(['docmill', *sys.argv[1:]])}")


class BatchCommand:
    """The batch of one command line."""

    def __init__(
        self,
        source: str,
        out: str,
        wanted: ReadRequest,
        accepts: tuple[str, ...],
        options: BatchOptions,
    ) -> None:
        self.out: str = out
        self.wanted: ReadRequest = wanted
        self._source: str = source
        self._accepts: tuple[str, ...] = accepts
        self._options: BatchOptions = options
        self._library: Any = _load_library()

    async def run(self, seconds: float, board: "BatchBoard") -> Any:
        """How the batch stands at its end (`batch.driver.BatchRun`)."""
        options, library = self._options, self._library
        plan = library.engines.WorkPlan(
            self._source, self.out, self.wanted, read_limits(seconds), options.retry_failed
        )
        endings = library.manifest.endings_of(() if options.everything else self._accepts)
        chosen = library.manifest.Selection(endings, options.limit, options.shard)
        batch = library.driver.Batch(plan, chosen)
        try:
            return await batch.run(self._starter(plan, board), board)
        finally:
            await batch.close()

    def _starter(self, plan: Any, board: "BatchBoard") -> Callable[[], Any]:
        engines, options = self._library.engines, self._options
        if options.engine is EngineName.RAY:
            return lambda: engines.RayEngine(plan, board, actors=options.jobs)
        jobs = options.jobs or CPUS
        return lambda: engines.LocalEngine(plan, board, jobs=jobs, shard=options.shard)


@dataclass(frozen=True, slots=True)
class BatchLibrary:
    """Modules that need pyarrow, which is an extra."""

    driver: Any
    engines: Any
    manifest: Any


def _load_library() -> BatchLibrary:
    try:
        return BatchLibrary(
            *(
                importlib.import_module(f"docmill.batch.{name}")
                for name in ("driver", "engines", "manifest")
            )
        )
    except ImportError as exc:
        raise StartError(
            f"docmill batch needs a library that is not installed ({exc.name}).\n"
            + advise_extra("batch")
        ) from exc


async def _load(command: BatchCommand, url: str, owner: OwnerKey, board: "BatchBoard") -> None:
    settings = read_settings()
    load: Any = importlib.import_module("docmill.batch.load")
    out = open_store(command.out)
    async with app.open_app(settings, url) as services:
        keep = timedelta(days=settings.keep_results_days)
        target = load.LoadTarget(services.pool, services.store, owner, command.wanted.mapping, keep)
        loaded = await load.load_parts(out, target, board)
        services.changes.ring()
    await out.close()
    board.say(
        {"event": "loaded", "documents": loaded, "owner": owner},
        f"Loaded {loaded:,} new documents for {owner}.",
    )


class BatchBoard:
    """Shows how a batch comes on: a bar on a terminal, a line now and then elsewhere, or JSON."""

    def __init__(self, *, as_json: bool) -> None:
        self.total: int = 0
        self.done: int = 0
        self.failed: int = 0
        self.read: int = 0
        self.began_at: float = time.monotonic()
        self._as_json: bool = as_json
        self._said_at: float = self.began_at
        self._bar: Progress = Progress(
            TextColumn("documents"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            console=err,
            transient=True,
            disable=as_json or not err.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def list(self, documents: int) -> None:
        """So many are found by now; how many there are, nobody knows yet."""
        if not self._bar.task_ids:
            self._bar.add_task("documents", total=None, pace="listed so far")
        self._bar.update(self._bar.task_ids[0], completed=documents)
        if self._bar.disable and self._is_time():
            text = f"{documents:,} documents listed so far"
            self._tell({"event": "listing", "documents": documents}, text)

    def expect(self, documents: int) -> None:
        self.finish()
        self.total, self.began_at = documents, time.monotonic()
        self._bar.add_task("documents", total=documents, pace="")

    def skip(self, documents: int) -> None:
        self.done += documents
        self._show()

    def add(self, documents: int, failed: int) -> None:
        self.done += documents
        self.read += documents
        self.failed += failed
        self._show()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began_at

    @property
    def rate(self) -> float:
        """Documents a second, of those read now."""
        return self.read / max(self.seconds, 1e-3)

    @property
    def left(self) -> timedelta | None:
        if not self.read:
            return None
        return timedelta(seconds=round((self.total - self.done) / self.rate))

    def finish(self) -> None:
        """The bar goes; what comes after is counted anew."""
        for task in self._bar.task_ids:
            self._bar.remove_task(task)

    def say(self, facts: dict[str, Any], text: str) -> None:
        """The same for programs and for people."""
        if self._as_json:
            sys.stdout.write(json.dumps(facts, default=str) + "\n")
            sys.stdout.flush()
        else:
            say(text)

    def _show(self) -> None:
        pace = describe_pace(self.read, self.total - self.done, self.seconds)
        pace = f"{pace}, {self.failed} failed" if pace else ""
        for task in self._bar.task_ids:
            self._bar.update(task, completed=self.done, pace=pace)
        if not self._bar.disable or not pace or not self._is_time():
            return
        left = self.left.total_seconds() if self.left is not None else None
        facts = {"event": "progress", "documents": self.done, "of": self.total}
        rate = {"per_second": round(self.rate, 2), "seconds_left": left, "failed": self.failed}
        self._tell({**facts, **rate}, f"{self.done:,} of {self.total:,} documents, {pace}")

    def _is_time(self) -> bool:
        """Whether a line is due; if so, the next is due a while later."""
        due = time.monotonic() - self._said_at >= LINE_SECONDS
        if due:
            self._said_at = time.monotonic()
        return due

    def _tell(self, facts: dict[str, Any], text: str) -> None:
        """While it runs: programs read stdout, people stderr."""
        if self._as_json:
            self.say(facts, text)
        else:
            err.print(text, markup=False)


def _print_end(ended: Any, out: str, board: BatchBoard, *, as_json: bool) -> None:
    out = out.partition("?")[0].rstrip("/")
    tally, listed = ended.tally, ended.listed
    if as_json:
        facts = {"event": "done", **asdict(tally), "listed": listed.documents}
        spent = {"read_now": board.read, "seconds": round(board.seconds, 1)}
        board.say({**facts, "skipped": listed.skipped, **spent}, "")
        return
    codes = ", ".join(f"{code} {count:,}" for code, count in sorted(tally.codes.items()))
    say(
        f"{listed.documents:,} documents listed, {tally.documents:,} in {out}/parts: "
        f"{tally.ok:,} ok, {tally.failed:,} failed{f' ({codes})' if codes else ''}"
    )
    each = tally.cpu_seconds / max(tally.documents, 1)
    say(
        f"cost: {tally.cpu_seconds:,.1f} s of CPU ({each:.2f} s a document),"
        f" {tally.pages:,} pages, {decimal(tally.bytes)}"
    )
    if ended.complete:
        say("All of it was there already.")
    else:
        say(f"now: {board.read:,} read in {board.seconds:.1f} s, {board.rate:.1f} a second")
    if listed.skipped:
        say(f"{listed.skipped:,} objects were left out by their names; --all takes them.")
    if tally.failed:
        say(f"What failed is in {out}/failed; --retry-failed reads it again.")
