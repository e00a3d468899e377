"""The plug-in contract: all that a pipeline and the room around it may give, and what they get.

A package registers one or two objects in its `pyproject.toml`:

    [project.entry-points."docmill.pipelines"]      reads documents, in a confined process
    wordcount = "docmill_wordcount.pipeline:pipeline"

    [project.entry-points."docmill.rooms"]          its tables, formats, pages and commands
    wordcount = "docmill_wordcount:room"

A `Pipeline` may also keep the protocols `FindsFields`, `HasMappings`, `Recognizes` and `WarmsUp`; a
`Room` says the rest. There are no other hooks, and docmill's own are registered in the same way.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.metadata import EntryPoint
from typing import Any, BinaryIO, Final, Protocol, TypeVar, runtime_checkable

from docmill.core.faults import DocmillError
from docmill.core.jobs import Job
from docmill.core.owners import Owner
from docmill.core.summaries import Summary

PIPELINES: Final = "docmill.pipelines"
ROOMS: Final = "docmill.rooms"
PDF: Final = "application/pdf"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
TEXT: Final = "text/plain"
# The pipeline that looks at a document and reads it as another would.
AUTO: Final = "auto"
# What it is told besides: the options of each pipeline, and those that are run elsewhere.
BY_PIPELINE: Final = "by_pipeline"
ELSEWHERE: Final = "elsewhere"

# A step is kept this often at most: what takes less is done again sooner than it is looked up.
STEP_SECONDS: Final = 3.0
# Characters of JSON in one step, about.
STEP_CHARS: Final = 500_000

# `module:attribute`, imported when it is used: the confined processes never load a web framework.
Reference = str
Options = TypeVar("Options")


def resolve(reference: Reference) -> Any:
    """Import what a reference names."""
    return EntryPoint(reference, reference, ROOMS).load()


@dataclass(frozen=True, slots=True)
class Source:
    """One document.

    - `file`: open for reading, seekable, at its start.
    - `filename`: as the owner named it, for showing only.
    - `content_type`: told by the content; one of those the pipeline accepts.
    - `sha256`: of the content, in hexadecimal.
    - `mapping`: the one that was asked for, if the pipeline has mappings.
    - `options`: what the job, the room and the settings say; read them with `read_options`.
    """

    file: BinaryIO
    filename: str
    content_type: str
    sha256: str = ""
    mapping: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


def read_options(kind: type[Options], given: Mapping[str, Any]) -> Options:
    """Options as a pipeline's own dataclass, in which each has a default.

    What the class does not name is left out: a job may carry more than one version knows.
    """
    known = {one.name for one in fields(kind)}  # pyright: ignore[reportArgumentType]
    return kind(**{name: value for name, value in given.items() if name in known})


@dataclass(frozen=True, slots=True)
class Memory:
    """What a run leaves for a later attempt of the same job, by kind of work.

    Nothing is promised: a step may be lost and is then done again.

    - `keep(kind, number, items)`: keeps a step; steps are numbered from 0.
    - `recall(kind, number)`: gives its items back, or None.
    """

    keep: Callable[[str, int, list[Any]], None]
    recall: Callable[[str, int], list[Any] | None]


# For runs that nobody will repeat.
NO_MEMORY: Final = Memory(lambda kind, number, items: None, lambda kind, number: None)


class Steps:
    """Long work in steps: what is done is kept now and then, and a later attempt goes on there."""

    def __init__(self, memory: Memory, kind: str, to_json: Callable[[Any], Any]) -> None:
        """`to_json` is called only for items that are kept."""
        self._memory: Memory = memory
        self._kind: str = kind
        self._to_json: Callable[[Any], Any] = to_json
        self._number: int = 0
        self._held: list[Any] = []
        self._size: int = 0
        self._kept_at: float = time.monotonic()

    def recall(self) -> Iterator[Any]:
        """What an earlier attempt has done, in its order, as JSON."""
        while (items := self._memory.recall(self._kind, self._number)) is not None:
            yield from items
            self._number += 1
        self._kept_at = time.monotonic()

    def add(self, item: Any, size: int) -> None:
        """`size` is about how many characters its JSON has."""
        if self._memory is NO_MEMORY:
            return
        self._held.append(item)
        self._size += size
        if self._size >= STEP_CHARS or time.monotonic() - self._kept_at >= STEP_SECONDS:
            items = [self._to_json(one) for one in self._held]
            self._memory.keep(self._kind, self._number, items)
            self._number += 1
            self._held, self._size, self._kept_at = [], 0, time.monotonic()


def _refuse_service(service: str, _request: Any) -> Any:
    raise DocmillError("SERVICE_UNSET", f"no service {service}")


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run may use besides its source.

    - `progress(percent, stage)`: may be called often, and must be called at least once per page.
    - `services`: the names of services outside that the operator has set up.
    - `ask(service, request)`: asks one of them, JSON in, JSON out. It raises DocmillError: catch it
      to go on without the service, or let it pass, and the run is tried again when the fault says
      so. A later attempt gets the answers of an earlier one for nothing.
    - `rows`: whether `Output.rows` will be kept; where not, nobody needs to make costly ones.
    - `memory`: for long work that a later attempt need not do again; see `Steps`.
    - `size(pages)`: how many pages the run is about to read, as soon as it is known: a long run may
      be put off in favour of short ones. `open_document` calls it.
    - `document`: its pages, where somebody has opened it already; `open_document` then gives these.
    """

    progress: Callable[[int, str], None]
    services: frozenset[str] = frozenset()
    ask: Callable[[str, Any], Any] = _refuse_service
    rows: bool = False
    memory: Memory = NO_MEMORY
    size: Callable[[int], None] = lambda _: None
    document: Any = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file made of the data, such as an XML: what people download."""

    content: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Output:
    """What came out.

    - `data`: JSON, in which every value found carries its place (page, box) and a confidence. The
      same input gives the same data.
    - `artifact`: a file made of it, if the pipeline makes one.
    - `rows`: what goes into tables (`Table.rows`), in the transaction that completes the job.
    - `summary`: what the queue shows of it: `title`, `number`, `date`, `amount`, `currency`, `note`
      as texts, `check` as the number of values to look at; all optional. See `core/summaries.py`.
    - `mapping`: the one the artifact was written in, where the run chose it.
    - `refusal`: why no artifact could be made of the data, in a sentence for the owner: the job
      fails with GW_4XX, and the data is kept.
    - `pipeline`, `decision`: of a run that chose how to read: what it read as, and why.
    """

    data: Mapping[str, Any]
    artifact: Artifact | None = None
    rows: Mapping[str, Sequence[Mapping[str, Any]]] = field(
        default_factory=dict[str, Sequence[Mapping[str, Any]]]
    )
    summary: Summary = field(default_factory=dict[str, Any])
    mapping: str = ""
    refusal: str = ""
    pipeline: str = ""
    decision: str = ""


@runtime_checkable
class Pipeline(Protocol):
    """Reads one document: value in, value out, in a confined process.

    - `name`: what people write to choose it; the same as its entry point.
    - `version`: kept with every result; raise it when results change.
    - `accepts`: the content types it takes: `PDF`, `DOCX`, `TEXT`.
    - `run`: the work. A `DocmillError` it raises decides by its code what the owner is told and
      whether the run is tried again; any other exception becomes UNKNOWN and is tried again.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def accepts(self) -> tuple[str, ...]: ...
    def run(self, source: Source, tools: Tools) -> Output: ...


@runtime_checkable
class FindsFields(Protocol):
    """A pipeline that finds fields asked for by name.

    - `asks`: True. The job's option `fields` then has them (`core/field_request.py`), which
      `read_fields(source.options)` reads.
    """

    @property
    def asks(self) -> bool: ...


@runtime_checkable
class HasMappings(Protocol):
    """A pipeline that turns its data into documents of several kinds.

    - `mappings`: their names, the default first. `Source.mapping` has the one asked for, and
      `Output.artifact` the document.
    """

    @property
    def mappings(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Recognition:
    """How sure a pipeline is that a document is one of its own, from 0 to 1, and why.

    - `sentence`: for the owner, such as `Read as an invoice: it says Invoice, and its sums add up.`
    """

    score: float
    sentence: str


@runtime_checkable
class Recognizes(Protocol):
    """A pipeline that can tell its documents from others; `auto` asks each, and takes the surest.

    - `recognize`: looks at the first pages (`docmill.reading.pages.Page`). Who reads any document
      says 0.5: who is surer goes first, and who is not leaves it to them.
    """

    def recognize(self, source: Source, pages: Sequence[Any]) -> Recognition: ...


@runtime_checkable
class WarmsUp(Protocol):
    """A pipeline that loads something all its runs share, such as a model.

    - `warm`: called once, before the confined processes are forked.
    """

    def warm(self) -> None: ...


@runtime_checkable
class Validator(Pipeline, Protocol):
    """Holds the file that a run made against rules: `run` gets the file as its source.

    - `covers`: whether it has rules for files of this mapping.
    - `merge`: the data of the job's result with what `run` found. Where no run came to an end,
      `found` has only a `reason`.
    """

    def covers(self, mapping: str | None) -> bool: ...
    def merge(self, data: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]: ...


def list_mappings(pipeline: Pipeline) -> tuple[str, ...]:
    return pipeline.mappings if isinstance(pipeline, HasMappings) else ()


def takes_fields(pipeline: Pipeline) -> bool:
    return isinstance(pipeline, FindsFields) and pipeline.asks


@dataclass(frozen=True, slots=True)
class FormatState:
    """Whether a format can be written.

    - `reason`: why not, in a sentence; empty where it can.
    - `draft`: something is missing, but it can be written without that, as a draft.
    """

    reason: str = ""
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """A form in which results of the room's pipeline can be downloaded.

    - `name`: what `?form=` and `docmill result --form` take.
    - `label`: what people read.
    - `content_type`, `ending`: of the file: `text/csv; charset=utf-8`, `.csv`.
    - `write`: `write(data, title) -> bytes`, with the result's data and the document's name without
      its ending. It is called in a thread of the web process.
    - `make`: instead of it `async make(site, job, data, *, draft) -> bytes`, for one that needs
      more than the data, such as the settings or the document itself. `draft`: although
      something is missing.
    - `check`: `async check(site, job, data) -> FormatState`.
    """

    name: str
    label: str
    content_type: str
    ending: str
    write: Reference = ""
    make: Reference = ""
    check: Reference = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Where rows of one name go, in the transaction that completes the job.

    - `rows`: the key in `Output.rows`; unique in the installation.
    - `write`: `async write(conn, job, rows)`, with the transaction's connection, the claimed job
      (`id`, `document_id`, `owner`) and the rows as the text of a JSON array. The text comes from a
      process that read strangers' bytes: let PostgreSQL parse it (`jsonb_to_recordset`). First
      remove what an earlier run of the job has written.
    - `exist`: `async exist(conn, job_id) -> bool`. A job over the same content as another takes
      over its result where results are shared, but not where rows exist; then it runs itself.
    - `schema`: SQL that makes the table. `docmill migrate` runs it each time after docmill's own
      migrations, so each statement must bear being run again (`CREATE TABLE IF NOT EXISTS`). With
      `job_id uuid REFERENCES jobs (id) ON DELETE CASCADE` rows go when their job goes.
    """

    rows: str
    write: Reference
    exist: Reference | None = None
    schema: str = ""


@dataclass(frozen=True, slots=True)
class JobLink:
    """A button beside a complete job of the room's pipeline, in the list and on its page.

    - `label`: what it says.
    - `icon`: one of `web/templates/icons.html`.
    - `address`: where it leads; `{id}` stands for the job's id.
    - `mapped`: only for jobs with a mapping.
    """

    label: str
    icon: str
    address: str
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class JobAction:
    """What can be done about a failed job of the room's pipeline, beside its reason.

    - `name`: for programs; `label`: what the button says.
    - `address`: the request, `{id}` for the job's id; `method`: GET is a page or a download.
    - `codes`: the faults it helps with.
    - `reading`: only where what was read is kept.
    - `when`: `when(job) -> bool`, to offer it only to some of them.
    """

    name: str
    label: str
    address: str
    codes: frozenset[str] = frozenset()
    method: str = "GET"
    reading: bool = False
    when: Reference | None = None


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A page of the room in the menu at the top of every page.

    - `section`: what the page's template calls itself (`{% set section = "search" %}`).
    - `address`, `title`: where it leads and what it says.
    - `position`: smaller is further left; the queue is 0, the API 100.
    - `admin`: only administrators see it.
    """

    section: str
    address: str
    title: str
    position: int = 50
    admin: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command of its own: `docmill NAME`. It is imported when it is called, not to be listed.

    - `name`: unique in the installation; docmill's own come first.
    - `target`: a function that Typer understands, or a `typer.Typer`.
    - `summary`: its line in `docmill --help`.
    - `panel`: the heading above it there.
    """

    name: str
    target: Reference
    summary: str
    panel: str = "Work with documents"


@dataclass(frozen=True, slots=True)
class Room:
    """What stands around a pipeline. All but `name` is optional.

    Put it where importing it costs nothing, such as the `__init__` of the package: every process
    and every command imports it, and resolves only the references it needs.

    - `name`: the same as its entry point.
    - `pipeline`: the pipeline whose jobs its formats, links and options are for.
    - `package`: the Python package whose folders `templates/` and `static/` its pages use.
    - `enabled_by`: the name of a setting; the room has no pages where that is off.
    - `noun`: what its pipeline reads, as in `Read as trade note`; without one nobody is offered it.
    - `formats`, `tables`, `job_links`, `job_actions`, `menu`, `commands`: see their classes.
    - `routers`: FastAPI's `APIRouter`s, written with `docmill.web` (`site`, `render`, `params`);
      `site.find(JobAccess)` is for jobs and results.
    - `settings`: names of settings that each run of the pipeline gets as options.
    - `accept_options`: `async (conn, owner_key) -> Mapping`, asked at an upload; its job keeps it.
    - `run_options`: `async (conn, job) -> Mapping`, asked before each run.
    - `validator`: a `Validator` of the files that its pipeline makes, run in a confined process.
    - `confined_runs`: further objects with a pipeline's contract, which its pages may run likewise.
    - `titles`: what people call its pipeline and its mappings, by name.
    - `show`: `show(data) -> Shown` (`core/shown.py`): a result as people read it.
    - `waiting`: `async (conn, owner) -> MenuEntry | None`: where how much waits for this person.
    - `judge`: `judge(record, data) -> Iterable[JudgedValue]`: a result against its truth, for eval.
    - `outline`: `outline(data) -> Outline` (`core/comparison.py`): a result as values to compare.
    - `approved`: `async (conn, after, limit) -> Sequence[ApprovedReading]`, by the ids of jobs.
    - `reviewed`: `async (conn, job) -> dict | None`: who decided, and on which revision.
    - `upkeep`: `async (pool, store) -> None`, what is done for it once a day.
    """

    name: str
    pipeline: str = ""
    noun: str = ""
    package: str = ""
    enabled_by: str = ""
    formats: tuple[Format, ...] = ()
    tables: tuple[Table, ...] = ()
    routers: tuple[Reference, ...] = ()
    job_links: tuple[JobLink, ...] = ()
    job_actions: tuple[JobAction, ...] = ()
    menu: tuple[MenuEntry, ...] = ()
    commands: tuple[Command, ...] = ()
    settings: tuple[str, ...] = ()
    accept_options: Reference | None = None
    run_options: Reference | None = None
    validator: Reference | None = None
    confined_runs: tuple[Reference, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    show: Reference | None = None
    waiting: Reference | None = None
    judge: Reference | None = None
    outline: Reference | None = None
    approved: Reference | None = None
    reviewed: Reference | None = None
    upkeep: Reference | None = None


# By name, the fields of an upload's form that a route knows, each checked by a function.
FormChecks = Mapping[str, Callable[[str], None]]


class JobAccess(ABC):
    """What a room's routes may do with jobs, for their owner. `site.find(JobAccess)` gives it."""

    @abstractmethod
    async def find_job(self, owner: Owner, job_id: str) -> Job:
        """Raises JOB_NOT_FOUND, or FORBIDDEN for somebody else's."""

    @abstractmethod
    async def read_data(self, job: Job) -> Any:
        """What a complete job found. Raises NOT_READY or EXPIRED."""

    @abstractmethod
    async def wait_for_end(self, owner: Owner, job_id: str, seconds: float) -> Job:
        """The job when it has ended, or as it is after so many seconds."""

    @abstractmethod
    async def submit(self, request: Any, owner: Owner, pipeline: str, *, check: FormChecks) -> Job:
        """The one file of an upload's request, as a job."""
