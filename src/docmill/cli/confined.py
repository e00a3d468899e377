"""The wires between the web and confined children, which it may not import itself."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, BinaryIO, Final

from docmill.cli import rules
from docmill.core.faults import Faulted
from docmill.core.pipeline import PDF
from docmill.settings import Settings
from docmill.web.confined import Confined, Found
from docmill.work.child import Failed, Nursery, Task

# By address: nobody uploads to them.
PLACES: Final = ("docmill.pipelines.viewer:pipeline", "docmill.pipelines.invoice.teaching:pipeline")
LONGEST: Final = timedelta(seconds=60)  # somebody waits for the answer
AT_A_TIME: Final = 2


def nursery(settings: Settings) -> Nursery:
    """For the web's own runs; its parent starts with the first of them."""
    limits = rules.limits(settings)
    return Nursery(replace(limits, total=min(limits.total, LONGEST)), pipelines=PLACES)


def confined(nursery: Nursery) -> Confined:
    """Runs over documents, so many at a time; others wait their turn."""
    room = asyncio.Semaphore(AT_A_TIME)

    async def run(name: str, file: BinaryIO, options: Mapping[str, Any]) -> Found:
        task = Task(name, "document.pdf", PDF, options=options)
        async with room:
            ran = await nursery.run(task, file.fileno(), _silent)
        if isinstance(ran, Failed):
            raise Faulted(ran.code, ran.detail)
        return Found(ran.data, ran.artifact.content if ran.artifact else None)

    return run


def _silent(_percent: int, _stage: str) -> None:
    """Nobody watches so short a run."""
