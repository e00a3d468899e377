"""Runs that a service does for the worker, behind a circuit breaker of the service's own."""

import time
from collections.abc import Callable, Mapping
from typing import BinaryIO

import structlog

from docmill.clients.gateway import Answer, GatewayClient
from docmill.core.breaker import Breaker, State
from docmill.core.faults import Faulted
from docmill.core.jobs import Claimed, Usage
from docmill.core.pipeline import Artifact
from docmill.work.verdict import Failed, Ran, Returned
from docmill.work.worker import Note

log = structlog.get_logger()

XML = "application/xml"
Clock = Callable[[], float]


class ByGateway:
    """Runs jobs at a gateway. Faults that may pass count against it, refusals do not."""

    def __init__(
        self, client: GatewayClient, breaker: Breaker, clock: Clock = time.monotonic
    ) -> None:
        self._client: GatewayClient = client
        self._breaker: Breaker = breaker
        self._clock: Clock = clock
        self._said: State = State.CLOSED

    @property
    def admits(self) -> bool:
        self._say()
        return self._breaker.admits(self._clock())

    async def __call__(self, job: Claimed, file: BinaryIO, note: Note) -> Ran | None:
        """None while the breaker keeps calls from the gateway: no attempt was made."""
        call = self._breaker.begin(self._clock())
        if call is None:
            return None
        note(5, "sent to the gateway")
        began_at = self._clock()
        try:
            ran = await self._convert(job, file, began_at)
        except BaseException:
            self._breaker.abandoned(call)
            raise
        passing = isinstance(ran, Failed) and ran.code != "GW_4XX"
        (self._breaker.failed if passing else self._breaker.succeeded)(call, self._clock())
        self._say()
        return ran

    async def _convert(self, job: Claimed, file: BinaryIO, began_at: float) -> Ran:
        try:
            answer = await self._client.convert(file, job.mapping)
        except Faulted as exc:
            return Failed(exc.fault.code, exc.detail, "", self._usage(began_at))
        return Returned(answer.data, answer.version, self._usage(began_at), _artifact(answer))

    def _usage(self, began_at: float) -> Usage:
        return Usage(duration_ms=round((self._clock() - began_at) * 1000))

    def _say(self) -> None:
        """Log a state that was not told yet."""
        state = self._breaker.state(self._clock())
        if state is not self._said:
            log.warning("breaker.turned", service=self._client.url, was=self._said, now=state)
            self._said = state


def resting(services: Mapping[str, ByGateway]) -> frozenset[str]:
    """The pipelines whose service is left alone for now: their jobs wait."""
    return frozenset(name for name, service in services.items() if not service.admits)


def _artifact(answer: Answer) -> Artifact | None:
    return None if answer.xml is None else Artifact(answer.xml, XML)
