"""One open document through a pipeline in a confined process, with no job behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docmill.cli.files import OpenDocument
from docmill.core import installed, plugins
from docmill.core.faults import DocmillError
from docmill.core.installed import PipelineCatalog
from docmill.core.jobs import ReportProgress, Usage
from docmill.documents import content_types
from docmill.sandbox.outcome import RunFailed, RunOutcome, Task
from docmill.sandbox.pool import SandboxPool


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What is to be done with every document. `rows`: also what would go into tables."""

    pipeline: str
    mapping: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rows: bool = False


def load_catalog(name: str) -> PipelineCatalog:
    """What one installed pipeline takes. Raises what its import raises."""
    one = installed.load_pipeline(name)
    return PipelineCatalog(
        {name: one.accepts},
        {name: plugins.list_mappings(one)},
        frozenset({name} if plugins.takes_fields(one) else ()),
    )


@dataclass(frozen=True, slots=True)
class ConfinedReader:
    """Reads documents as a worker would, each in a process of its own."""

    sandbox: SandboxPool
    catalog: PipelineCatalog
    request: ReadRequest

    async def read(
        self, document: OpenDocument, sha256: str, *, note: ReportProgress, kind: str | None = None
    ) -> RunOutcome:
        """What stalled on a busy machine is tried once more. `kind` is its type where known."""
        try:
            kind = kind or self.find_type(document)
        except DocmillError as exc:
            return RunFailed(exc.fault.code, exc.detail, "", Usage())
        task = Task(
            self.request.pipeline,
            document.filename,
            kind,
            sha256,
            mapping=self.request.mapping,
            options=self.request.options,
            rows=self.request.rows,
        )
        ran = await self.sandbox.run(task, document.fd, note)
        if isinstance(ran, RunFailed) and ran.stalled:
            ran = await self.sandbox.run(task, document.fd, note)
        return ran

    def find_type(self, document: OpenDocument) -> str:
        """Told by the content. Raises DocmillError when the pipeline does not take it."""
        head = document.head(content_types.HEAD_BYTES)
        if not head:
            raise DocmillError("EMPTY_FILE")
        return content_types.check_type(
            self.catalog, self.request.pipeline, head, document.tail(content_types.TAIL_BYTES)
        )
