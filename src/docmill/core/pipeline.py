"""The plug-in contract: what a pipeline is, what it is given and what it gives back."""

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, BinaryIO, Final, Protocol, runtime_checkable

from docmill.core.faults import Faulted
from docmill.core.steps import FORGETFUL, Memory

GROUP: Final = "docmill.pipelines"
PDF: Final = "application/pdf"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
TEXT: Final = "text/plain"


@dataclass(frozen=True, slots=True)
class Source:
    """One document: an open, seekable file and what is known of it."""

    file: BinaryIO
    filename: str
    content_type: str
    sha256: str = ""
    mapping: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


def _nobody(service: str, _request: Any) -> Any:
    raise Faulted("SERVICE_UNSET", f"no service {service}")


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run may use besides its source. `progress(percent, stage)` may be called often.

    `ask(service, request)` puts a question to one of the `services`: JSON in, JSON out. It raises
    Faulted; who can do without the service goes on, who cannot lets it pass, and the run is tried
    again when the fault says so. A later try gets the answers of an earlier one for nothing.
    `rows`: what is given as rows will be kept; where not, nobody needs to make costly ones.
    `memory` is for long work, which a later try need not do again (`core/steps.py`).
    """

    progress: Callable[[int, str], None]
    services: frozenset[str] = frozenset()
    ask: Callable[[str, Any], Any] = _nobody
    rows: bool = False
    memory: Memory = FORGETFUL


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file made of the data, such as an XML: what people download."""

    content: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Output:
    """What came out: JSON data, in which every value found carries its place and a confidence.

    `rows` go into tables, by noun (see `db/rows.py`), in the transaction that completes the job.
    """

    data: Mapping[str, Any]
    artifact: Artifact | None = None
    rows: Mapping[str, Sequence[Mapping[str, Any]]] = field(
        default_factory=dict[str, Sequence[Mapping[str, Any]]]
    )


@runtime_checkable
class Pipeline(Protocol):
    """Three facts and one method; found under the entry point group `docmill.pipelines`."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def accepts(self) -> tuple[str, ...]: ...
    def run(self, source: Source, tools: Tools) -> Output: ...


def mappings_of(pipeline: Pipeline) -> tuple[str, ...]:
    """The mappings a pipeline knows, its default first; most know none."""
    return tuple(getattr(pipeline, "mappings", ()))


def asks(pipeline: Pipeline) -> bool:
    """Whether a pipeline finds fields that are asked for by name (`core/asked.py`)."""
    return bool(getattr(pipeline, "asks", False))


def _nothing() -> None:
    """Most pipelines share nothing between their runs."""


def found() -> dict[str, EntryPoint]:
    """The installed pipelines by name, not yet imported."""
    return {point.name: point for point in entry_points(group=GROUP)}


def load(name: str) -> Pipeline:
    """Import one pipeline, by entry point or as `module:attribute`; it must keep the contract."""
    point = EntryPoint(name, name, GROUP) if ":" in name else found()[name]
    pipeline = point.load()
    if not isinstance(pipeline, Pipeline) or (":" not in name and pipeline.name != name):
        raise TypeError(f"entry point {name!r} of {GROUP} is not a pipeline of that name")
    return pipeline


@dataclass(frozen=True, slots=True)
class Loaded:
    """The pipelines by name, and the stacks of those that could not be imported."""

    pipelines: Mapping[str, Pipeline]
    broken: Mapping[str, str]


def load_all(names: Iterable[str], *, warm: bool = False) -> Loaded:
    """Import several; one that fails, in whatever way a plug-in may fail, stops no other.

    `warm`: those with a method of that name load what all their runs share, such as a model.
    """
    pipelines: dict[str, Pipeline] = {}
    broken: dict[str, str] = {}
    for name in names:
        try:
            one = load(name)
            if warm:
                getattr(one, "warm", _nothing)()
        except Exception:  # noqa: BLE001  its stack is shown
            broken[name] = traceback.format_exc()
        else:
            pipelines[one.name] = one
    return Loaded(pipelines, broken)
