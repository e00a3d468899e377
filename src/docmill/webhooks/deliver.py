"""The deliverer: takes what is due from the outbox and sends it. Any number of them may run."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

import httpx2
import psycopg
import structlog

from docmill.core import failpoints
from docmill.core.faults import DocmillError
from docmill.core.jitter import jitter
from docmill.core.texts import clean_text
from docmill.db.notify import CHANGES, listen
from docmill.db.pool import Outage, Pool
from docmill.services.endpoint import parse_retry_after
from docmill.services.outbound import OutboundClient
from docmill.web.params import format_instant
from docmill.webhooks import outbox, signing
from docmill.webhooks.outbox import AttemptResult, DueDelivery
from docmill.webhooks.queries import WebhookId

log = structlog.get_logger()

# Ten tries in three days.
DELAYS: Final = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 57_600, 86_400)
)
# Each delay is up to a tenth shorter or longer, so that what failed together comes back apart.
JITTER: Final = 0.1
LONGEST_DELAY: Final = timedelta(days=1)
# So much of an answer is read and kept; the rest is nobody's business.
KEPT_BYTES: Final = 500
# A change rings at most so often.
QUIET: Final = 0.25
BUSY: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
AGENT: Final = "docmill-webhooks"


@dataclass(frozen=True, slots=True)
class DeliveryRules:
    """How deliveries are tried.

    - `lease`: longer than `timeout`; what somebody has held for so long is taken by another.
    - `slots`, `slots_each`: how many requests at a time, in all and to one webhook.
    - `keep`: how long the log is kept; `sweep`: how often old lines are removed.
    """

    delays: tuple[timedelta, ...] = DELAYS
    timeout: timedelta = timedelta(seconds=15)
    lease: timedelta = timedelta(seconds=60)
    slots: int = 64
    slots_each: int = 8
    poll: timedelta = timedelta(seconds=5)
    keep: timedelta = timedelta(days=30)
    sweep: timedelta = timedelta(hours=1)

    @property
    def span(self) -> timedelta:
        """The least time that all tries of a delivery take."""
        return sum(self.delays, timedelta()) * (1 - JITTER)


def write_body(due: DueDelivery) -> bytes:
    """As Standard Webhooks has it. The data is JSON as the database wrote it."""
    head = f'{{"type":"{due.kind}","timestamp":"{format_instant(due.at)}","data":'
    return f"{head}{due.data}}}".encode()


class Deliverer:
    def __init__(
        self,
        pool: Pool,
        client: OutboundClient,
        rules: DeliveryRules | None = None,
        listen_url: str | None = None,
    ) -> None:
        """Without an address to listen at, it looks every `poll` alone."""
        self._pool: Pool = pool
        self._client: OutboundClient = client
        self._rules: DeliveryRules = rules or DeliveryRules()
        self._listen_url: str | None = listen_url
        self._under_way: dict[asyncio.Task[None], WebhookId] = {}
        self._wake: asyncio.Event = asyncio.Event()
        self._stopping: bool = False
        self._rings: asyncio.TimerHandle | None = None

    def stop(self) -> None:
        """Nothing more is taken; what is under way ends."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Until it is stopped; it breaks with whatever part of it breaks."""
        parts = [asyncio.create_task(self._deliver()), asyncio.create_task(self._sweep())]
        if self._listen_url:
            parts.append(asyncio.create_task(self._listen(self._listen_url)))
        try:
            ended, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
            if self._under_way:
                await asyncio.wait(set(self._under_way))
        finally:
            left = [*parts, *self._under_way]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _deliver(self) -> None:
        outage = Outage("webhooks")
        while not self._stopping:
            self._wake.clear()
            due: Sequence[DueDelivery] = ()
            try:
                due = await self._take()
                outage.end()
            except psycopg.Error as exc:
                outage.begin(exc)
            for one in due:
                self._start(one)
            if not due:
                await self._wait()

    async def _wait(self) -> None:
        """For a delivery that ends, a change, a stop; or until it is time to look unasked."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._rules.poll.total_seconds()):
                await self._wake.wait()

    async def _take(self) -> Sequence[DueDelivery]:
        free = self._rules.slots - len(self._under_way)
        if not free:
            return ()
        count = Counter(self._under_way.values())
        busy = [each for each, taken in count.items() if taken >= self._rules.slots_each]
        async with self._pool.connection() as conn:
            return await outbox.take_due(
                conn,
                most=free,
                each=self._rules.slots_each,
                busy=busy,
                lease=self._rules.lease,
            )

    def _start(self, due: DueDelivery) -> None:
        task = asyncio.create_task(self._deliver_one(due))
        self._under_way[task] = due.webhook_id
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self._wake.set()
        if not task.cancelled() and (exc := task.exception()):
            log.error("webhook.broke", error=type(exc).__name__)

    async def _deliver_one(self, due: DueDelivery) -> None:
        result = await self._try(due)
        failpoints.hit("webhook.sent")
        try:
            await self._record(due, result)
        except psycopg.Error as exc:  # it is tried again when its lease is over
            log.warning("webhook.unrecorded", delivery=str(due.id), error=type(exc).__name__)

    async def _try(self, due: DueDelivery) -> AttemptResult:
        body = write_body(due)
        message = signing.name_message(due.event_id)
        headers = {
            "content-type": "application/json",
            "user-agent": AGENT,
            **signing.sign(message, int(time.time()), body, due.secrets),
        }
        began_at = time.monotonic()
        status, pause, answer, error = None, None, "", ""
        try:
            async with (
                asyncio.timeout(self._rules.timeout.total_seconds()),
                self._client.stream("POST", due.url, headers=headers, content=body) as response,
            ):
                status = response.status_code
                pause = response.headers.get("retry-after")
                answer = await _read_beginning(response)
        except (TimeoutError, httpx2.TimeoutException):
            status, error = None, f"no answer within {self._rules.timeout.total_seconds():g} s"
        except DocmillError as exc:
            error = exc.reason
        except (httpx2.HTTPError, OSError) as exc:
            error = f"the connection failed ({type(exc).__name__})"
        spent = round((time.monotonic() - began_at) * 1000)
        outcome, delay = self._decide(due, status, pause)
        return AttemptResult(outcome, status, spent, answer, error, delay)

    def _decide(
        self, due: DueDelivery, status: int | None, pause: str | None
    ) -> tuple[str, timedelta]:
        """What becomes of a delivery after this answer, and when it is tried again."""
        if status is not None and HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return "delivered", timedelta()
        if status == HTTPStatus.GONE:
            return "gone", timedelta()
        if due.tries >= len(self._rules.delays):
            return "failed", timedelta()
        delay = self._rules.delays[due.tries] * jitter(JITTER)
        if status in BUSY and (asked := parse_retry_after(pause, datetime.now(UTC))):
            delay = max(delay, min(timedelta(seconds=min(asked, 1e6)), LONGEST_DELAY))
        return "retry", delay

    async def _record(self, due: DueDelivery, result: AttemptResult) -> None:
        disabled = False
        async with self._pool.connection() as conn:
            await outbox.note_health(conn, due.webhook_id, is_well=result.outcome == "delivered")
            if result.outcome in {"gone", "failed"}:
                why, failing = "failing", self._rules.span
                if result.outcome == "gone":
                    why, failing = "gone", timedelta()
                disabled = await outbox.disable(conn, due.webhook_id, why, failing=failing)
            mine = await outbox.record_attempt(conn, due, result)
            if disabled:
                await outbox.give_up(conn, due.webhook_id)
        log.info(
            "webhook.tried" if mine else "webhook.taken_over",
            webhook=str(due.webhook_id),
            delivery=str(due.id),
            outcome=result.outcome,
            status=result.status,
            ms=result.duration_ms,
        )
        if disabled:
            log.warning("webhook.disabled", webhook=str(due.webhook_id), why=result.outcome)

    async def _sweep(self) -> None:
        outage = Outage("webhooks.sweep")
        while True:
            try:
                await sweep(self._pool, self._rules.keep)
                outage.end()
            except psycopg.Error as exc:
                outage.begin(exc)
            await asyncio.sleep(self._rules.sweep.total_seconds())

    async def _listen(self, url: str) -> None:
        """Jobs that end ring; whether somebody wants to know of it is seen in the outbox."""
        loop = asyncio.get_running_loop()
        async for _ in listen(url, CHANGES):
            if self._rings is None:
                self._rings = loop.call_later(QUIET, self._ring)

    def _ring(self) -> None:
        self._rings = None
        self._wake.set()


async def _read_beginning(response: httpx2.Response) -> str:
    kept = bytearray()
    with suppress(httpx2.HTTPError):  # the status says enough
        async for piece in response.aiter_raw():
            kept += piece
            if len(kept) >= KEPT_BYTES:
                break
    return clean_text(bytes(kept[:KEPT_BYTES]).decode(errors="replace"))


async def sweep(pool: Pool, keep: timedelta) -> int:
    """Remove what is older than that; how many events."""
    removed = 0
    while True:
        async with pool.connection() as conn:
            count = await outbox.forget_old(conn, keep)
        removed += count
        if not count:
            return removed
