"""Runs that a service does for the worker, behind the service's own guard."""

import time
from collections.abc import Mapping
from functools import partial
from typing import BinaryIO, Final

from docmill.clients.gateway import Answer, GatewayClient
from docmill.core.faults import Faulted
from docmill.core.jobs import Claimed, Usage
from docmill.core.pipeline import Artifact
from docmill.work.guard import Clock, Guard
from docmill.work.verdict import Failed, Ran, Returned
from docmill.work.worker import Note

XML: Final = "application/xml"


class ByGateway:
    """Runs jobs at a gateway."""

    def __init__(self, client: GatewayClient, guard: Guard, clock: Clock = time.monotonic) -> None:
        self.guard: Guard = guard
        self._client: GatewayClient = client
        self._clock: Clock = clock

    async def __call__(self, job: Claimed, file: BinaryIO, note: Note) -> Ran:
        began_at = self._clock()
        note(5, "sent to the gateway")
        try:
            answer = await self.guard.through(partial(self._client.convert, file, job.mapping))
        except Faulted as exc:
            return Failed(exc.fault.code, exc.detail, "", self._usage(began_at))
        return Returned(answer.data, answer.version, self._usage(began_at), _artifact(answer))

    def _usage(self, began_at: float) -> Usage:
        return Usage(duration_ms=round((self._clock() - began_at) * 1000))


def resting(services: Mapping[str, ByGateway]) -> frozenset[str]:
    """The pipelines whose service is left alone for now: their jobs wait."""
    return frozenset(name for name, service in services.items() if not service.guard.admits)


def _artifact(answer: Answer) -> Artifact | None:
    return None if answer.xml is None else Artifact(answer.xml, XML)
