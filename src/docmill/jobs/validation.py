"""The file a run made is held against the rules of its room, in a sandbox of its own."""

import asyncio
import json
import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, Self

import structlog

from docmill.core.installed import find_rooms
from docmill.core.jobs import Claimed, ignore_progress
from docmill.core.plugins import Artifact, Reference, Validator, resolve
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.outcome import RunFailed, RunReturned, Task
from docmill.sandbox.pool import SandboxPool

log = structlog.get_logger()

MAX_BYTES: Final = 8 << 20
# It says nothing before its answer.
LIMITS: Final = RunLimits(stall=timedelta(seconds=30), cpu=timedelta(minutes=1))


class ArtifactValidators:
    """The rooms' validators by pipeline. Their fork server starts when it is first needed."""

    def __init__(self, limits: RunLimits = LIMITS) -> None:
        rooms = find_rooms().rooms.values()
        self._references: dict[str, Reference] = {
            room.pipeline: room.validator for room in rooms if room.validator
        }
        self.pool: SandboxPool = SandboxPool(limits, pipelines=[*self._references.values()])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.__aexit__()

    async def check(self, job: Claimed, ran: RunReturned) -> RunReturned:
        """The run with what its validator says of its artifact; a job never fails by it."""
        reference = self._references.get(ran.about.pipeline or job.pipeline)
        if reference is None or ran.artifact is None or len(ran.data) > MAX_BYTES:
            return ran
        validator: Validator = resolve(reference)
        mapping = ran.about.written or job.mapping
        if not validator.covers(mapping):
            return ran
        found = await self._find(validator, mapping, ran.artifact)
        return replace(ran, data=await asyncio.to_thread(_merge, validator, ran.data, found))

    async def _find(
        self, validator: Validator, mapping: str | None, artifact: Artifact
    ) -> Mapping[str, Any]:
        if len(artifact.content) > MAX_BYTES:
            return {"reason": f"more than {MAX_BYTES >> 20} MB"}
        task = Task(validator.name, "artifact", artifact.content_type, mapping=mapping)
        with _open_for_reading(artifact.content) as document:
            ran = await self.pool.run(task, document, ignore_progress)
        if isinstance(ran, RunFailed):
            log.warning("check.failed", mapping=mapping, error=ran.code, detail=ran.detail)
            return {"reason": "the checker stopped"}
        return json.loads(ran.data)


def _merge(validator: Validator, data: bytes, found: Mapping[str, Any]) -> bytes:
    merged = validator.merge(json.loads(data), found)
    return json.dumps(merged, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


@contextmanager
def _open_for_reading(content: bytes) -> Generator[int]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        document = os.open(file.name, os.O_RDONLY)
    try:
        yield document
    finally:
        os.close(document)
