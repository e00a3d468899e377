"""Runs that a service does for the worker, behind the service's own guard."""

import time
from collections.abc import Mapping
from functools import partial
from typing import BinaryIO, Final

from docmill.clients.gateway import Answer, GatewayClient
from docmill.core.faults import Faulted
from docmill.core.jobs import Claimed, Usage
from docmill.core.pipeline import Artifact
from docmill.work.guard import RESTING, Clock, Guard, pause
from docmill.work.verdict import Failed, Ran, Returned
from docmill.work.worker import Note

XML: Final = "application/xml"


class ByGateway:
    """Runs jobs at a gateway."""

    def __init__(self, client: GatewayClient, guard: Guard, clock: Clock = time.monotonic) -> None:
        self.guard: Guard = guard
        self.url: str = client.url
        self._client: GatewayClient = client
        self._clock: Clock = clock

    async def __call__(self, job: Claimed, file: BinaryIO, note: Note) -> Ran:
        began_at = self._clock()
        if self.guard.admits:
            note(5, "sent to the gateway")
        try:
            profile = job.options.get("profile")
            convert = partial(self._client.convert, file, job.mapping, profile)
            answer = await self.guard.through(convert)
        except Faulted as exc:
            usage = self._usage(began_at, exc.facts.get("httpStatus"))
            delay = None if exc.fault.code == RESTING else pause(exc)
            return Failed(exc.fault.code, exc.detail, "", usage, delay)
        usage = self._usage(began_at, answer.status)
        return Returned(answer.data, answer.version, usage, _artifact(answer))

    def _usage(self, began_at: float, status: object) -> Usage:
        call = {"gateway": self.url, "http_status": status}
        return Usage(round((self._clock() - began_at) * 1000), call=call)


def resting(services: Mapping[str, ByGateway]) -> frozenset[str]:
    """The pipelines whose service is left alone for now: their jobs wait."""
    return frozenset(name for name, service in services.items() if not service.guard.admits)


def _artifact(answer: Answer) -> Artifact | None:
    return None if answer.xml is None else Artifact(answer.xml, XML)
