"""The plug-in contract: what a pipeline is, what it is given and what it gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, BinaryIO, Final, Protocol, runtime_checkable

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


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run may use besides its source. `progress(percent, stage)` may be called often."""

    progress: Callable[[int, str], None]


@dataclass(frozen=True, slots=True)
class Output:
    """What came out: JSON data, in which every value found carries its place and a confidence."""

    data: Mapping[str, Any]


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


def found() -> dict[str, EntryPoint]:
    """The installed pipelines by name, not yet imported."""
    return {point.name: point for point in entry_points(group=GROUP)}


def load(name: str) -> Pipeline:
    """Import one pipeline; a plug-in that does not keep the contract is named at once."""
    pipeline = found()[name].load()
    if not isinstance(pipeline, Pipeline) or pipeline.name != name:
        raise TypeError(f"entry point {name!r} of {GROUP} is not a pipeline of that name")
    return pipeline
