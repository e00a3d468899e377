"""docmill replay: what the installed version would change of all that was approved."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from docmill import __version__
from docmill.cli.console import err, out, say, say_json
from docmill.cli.options import AsJson, Data
from docmill.cli.progress import ProgressBoard
from docmill.cli.tables import make_table, print_table
from docmill.core.comparison import Difference, replay
from docmill.core.faults import CommandError
from docmill.processes import history
from docmill.processes.database import reach_database
from docmill.processes.history import HistoryDocument, ReadSide, StoredSide
from docmill.processes.read import CPUS
from docmill.processes.reread import open_reader
from docmill.settings import Settings, read_settings

SAME, CHANGED, FAILS = "same", "changed", "fails"


@dataclass(frozen=True, slots=True)
class ReplayedDocument:
    """One approved document, read by the installed version. `reason` is why it could not be."""

    job: str
    pipeline: str
    by: str | None
    docmill: str
    outcome: str
    lost: list[Difference] = field(default_factory=list[Difference])
    gained: list[Difference] = field(default_factory=list[Difference])
    moved: list[Difference] = field(default_factory=list[Difference])
    reason: str = ""


def replay_reviews(
    pipeline: Annotated[str | None, typer.Option(help="Only of this pipeline.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many documents; 0 for all.")] = 0,
    save: Annotated[
        Path | None,
        typer.Option(help="Keep each document's row here, to continue later."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Documents at a time.")] = CPUS,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Read everything that was approved with the installed version, and show what would change.

    Run it before an upgrade, with the new version, on the same database and store; nothing is
    written. A value is lost if it was read correctly and would not be any more. A value is gained
    if people had to correct it and would not have to now.

    Exit 1 if an approved value is lost, or a document can't be read any more.

    docmill replay

    docmill replay --limit 200 --save replay.jsonl
    """
    settings = read_settings(data=data)
    with ExitStack() as stack:
        url = reach_database(settings, stack)
        wanted = history.list_pipelines(pipeline)
        job = ReplayJob(settings, url, limit, save, quiet=as_json)
        rows = asyncio.run(job.run(wanted, at_a_time=jobs))
    if as_json:
        say_json([asdict(row) for row in rows])
    else:
        _print_rows(rows)
    if any(row.lost or row.outcome == FAILS for row in rows):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class ReplayJob:
    settings: Settings
    url: str
    limit: int
    save: Path | None
    quiet: bool

    async def run(self, pipelines: list[str], *, at_a_time: int) -> list[ReplayedDocument]:
        await history.connect_check(self.url)
        done = load_rows(self.save) if self.save else {}
        rows: list[ReplayedDocument] = list(done.values())
        async with AsyncExitStack() as stack:
            reader = await stack.enter_async_context(
                open_reader(self.settings, self.url, pipelines)
            )
            assert reader.pool
            board = stack.enter_context(ProgressBoard(err, quiet=self.quiet))
            total = await history.count_approved(reader.pool)
            board.expect(min(total, self.limit) if self.limit else total)
            stored = StoredSide(reader.pool, reader.store)
            sides = (StoredSide(reader.pool, reader.store, approved=True), stored, ReadSide(reader))
            waiting = self._list_waiting(history.list_approved(reader.pool, pipelines), done)

            async def work() -> None:
                async for document in waiting:
                    row = await _replay_one(document, sides)
                    rows.append(row)
                    if self.save:
                        _append_row(self.save, row)
                    board.advance()

            await asyncio.gather(*(work() for _ in range(at_a_time)))
        return sorted(rows, key=lambda row: (row.pipeline, row.job))

    def _list_waiting(
        self, found: AsyncIterator[HistoryDocument], done: Mapping[str, ReplayedDocument]
    ) -> "SharedDocuments":
        left = None if not self.limit else max(self.limit - len(done), 0)
        return SharedDocuments(found, frozenset(done), left)


class SharedDocuments:
    """Several who take from one list, each document once."""

    def __init__(
        self, found: AsyncIterator[HistoryDocument], done: frozenset[str], left: int | None
    ) -> None:
        self._found: AsyncIterator[HistoryDocument] = found
        self._done: frozenset[str] = done
        self._left: int | None = left
        self._lock: asyncio.Lock = asyncio.Lock()

    def __aiter__(self) -> "SharedDocuments":
        return self

    async def __anext__(self) -> HistoryDocument:
        async with self._lock:
            if self._left == 0:
                raise StopAsyncIteration
            while str((document := await anext(self._found)).job.id) in self._done:
                pass
            if self._left is not None:
                self._left -= 1
            return document


async def _replay_one(
    document: HistoryDocument, sides: tuple[StoredSide, StoredSide, ReadSide]
) -> ReplayedDocument:
    about = (str(document.job.id), document.job.pipeline, document.by, __version__)
    told = [await side(document) for side in sides]
    approved, then, now = told
    if isinstance(approved, str) or isinstance(then, str) or isinstance(now, str):
        return ReplayedDocument(*about, FAILS, reason=next(s for s in told if isinstance(s, str)))
    found = replay(approved, then, now)
    outcome = CHANGED if found.lost or found.gained or found.moved else SAME
    return ReplayedDocument(*about, outcome, found.lost, found.gained, found.moved)


def load_rows(path: Path) -> dict[str, ReplayedDocument]:
    """What an earlier run of this very version kept, by job; a line that was cut is none."""
    if not path.exists():
        return {}
    rows: dict[str, ReplayedDocument] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise CommandError(f"{path} can't be read: {exc}\nGive another --save.") from exc
    for line in lines:
        try:
            found: dict[str, Any] = json.loads(line)
            for name in ("lost", "gained", "moved"):
                found[name] = [Difference(**one) for one in found[name]]
            row = ReplayedDocument(**found)
        except (ValueError, TypeError, KeyError):
            continue
        if row.docmill == __version__:
            rows[row.job] = row
    return rows


def _append_row(path: Path, row: ReplayedDocument) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")


WORDS: Final = {"lost": "LOST", "gained": "gained", "moved": "moved"}


def _print_rows(rows: list[ReplayedDocument]) -> None:
    for row in rows:
        if row.reason:
            err.print(f"{row.job}: {row.reason}", markup=False)
        for name, word in WORDS.items():
            for one in getattr(row, name):
                out.print(f"{row.job}: {word} {one.path}: {one.old!r} > {one.new!r}", markup=False)
    print_fields({name: [one for row in rows for one in getattr(row, name)] for name in WORDS})
    counted = Counter(row.outcome for row in rows)
    words = ", ".join(f"{counted[word]} {word}" for word in (SAME, CHANGED, FAILS))
    say(f"{len(rows)} approved documents read by docmill {__version__}: {words}")


def print_fields(found: Mapping[str, list[Difference]]) -> None:
    """How often each field differs, one column for each kind."""
    counts = {name: Counter(one.field for one in each) for name, each in found.items()}
    fields = sorted({field for each in counts.values() for field in each})
    if not fields:
        return
    table = make_table("FIELD", *(name.upper() for name in counts))
    for one in fields:
        table.add_row(one, *(str(each[one]) for each in counts.values()))
    print_table(table)
