"""A cache: bytes under a key for a while. It may forget anything at any moment, and nobody minds.

What is kept here never decides what is true. Who reads it holds the version that it carries against
the database, and believes it unseen only while the database can't be asked.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final, NamedTuple, Protocol, cast

import structlog

from docmill.core.extras import advise_extra
from docmill.core.faults import CommandError

log = structlog.get_logger()

# Longer answers are read from the store each time.
LARGEST_VALUE: Final = 1 << 20
MEMORY_BYTES: Final = 64 << 20
# A server that does not answer within this is slower than the database.
REDIS_SECONDS: Final = 0.1
# Counted in looks, not by the clock: after a moment in which the machine did not let us run, an
# answer that is there already is found only after the time for it is over.
LOOK_SECONDS: Final = 0.02
LOOKS: Final = round(REDIS_SECONDS / LOOK_SECONDS)
# While the database is away nobody else knows the answer: then it is waited for.
PATIENT_LOOKS: Final = 20 * LOOKS
# So many questions at once: each has a connection, and a crowd of them would open hundreds.
AT_ONCE: Final = 16
# How long it is left alone after that.
REST_SECONDS: Final = 1.0
PREFIX: Final = "docmill:"
# A bucket is one time: when it will be full again, by the server's clock, in microseconds.
TAKE: Final = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local wanted, step, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full_at = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local given = math.min(wanted, math.floor((burst * step - (full_at - now)) / step))
if given > 0 then
  full_at = full_at + given * step
  redis.call('SET', KEYS[1], string.format('%.0f', full_at), 'PX',
             math.ceil((full_at - now) / 1000))
end
return {math.max(given, 0), full_at - now}
"""


class Taken(NamedTuple):
    """How many tokens were given, and in how many seconds their bucket is full again."""

    given: int
    full_after: float


class Cache(Protocol):
    """What the web processes share, or one keeps for itself."""

    @property
    def is_up(self) -> bool:
        """Whether it answered when it was last asked."""
        ...

    async def get(self, key: str, *, patient: bool = False) -> bytes | None:
        """Who is patient waits longer, and asks one that was sick just now."""
        ...

    async def put(self, key: str, value: bytes, *, keep: timedelta) -> None: ...

    async def drop(self, key: str) -> bool:
        """Whether the key is unknown now; a cache that can't be asked may have kept it."""
        ...

    async def take(self, name: str, wanted: int, *, step: float, burst: int) -> Taken | None:
        """Tokens of a bucket that all processes share, one every `step` seconds.

        None where each process has to count for itself.
        """
        ...

    async def publish(self, channel: str) -> None:
        """Wake whoever listens there; nobody where there is nobody else."""
        ...


class MemoryCache:
    """Of one process. What nobody has asked for longest goes first."""

    def __init__(
        self, most_bytes: int = MEMORY_BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most_bytes: int = most_bytes
        self._clock: Callable[[], float] = clock
        self._bytes: int = 0
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    @property
    def is_up(self) -> bool:
        return True

    async def get(self, key: str, *, patient: bool = False) -> bytes | None:
        found = self._kept.get(key)
        if found is None:
            return None
        until, value = found
        if until <= self._clock():
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return value

    async def put(self, key: str, value: bytes, *, keep: timedelta) -> None:
        self._drop(key)
        if len(value) > min(LARGEST_VALUE, self._most_bytes):
            return
        self._kept[key] = (self._clock() + keep.total_seconds(), value)
        self._bytes += len(value)
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._kept)))

    async def drop(self, key: str) -> bool:
        self._drop(key)
        return True

    async def take(self, name: str, wanted: int, *, step: float, burst: int) -> Taken | None:
        return None

    async def publish(self, channel: str) -> None:
        return None

    def _drop(self, key: str) -> None:
        if found := self._kept.pop(key, None):
            self._bytes -= len(found[1])


class RedisCache:
    """Redis or Valkey, for all web processes. While it is sick every key is unknown.

    What this process has put there it keeps as well, for when nobody else can be asked, if
    (`is_told`) it is told to drop what the others change.
    """

    def __init__(
        self, client: Any, failures: tuple[type[BaseException], ...], *, is_told: bool
    ) -> None:
        self._own: MemoryCache = MemoryCache()
        self._is_told: bool = is_told
        self._client: Any = client
        self._failures: tuple[type[BaseException], ...] = failures
        self._rests_until: float = 0.0
        self._is_sick: bool = False
        self._room: asyncio.Semaphore = asyncio.Semaphore(AT_ONCE)

    @property
    def is_up(self) -> bool:
        return not self._is_sick

    async def get(self, key: str, *, patient: bool = False) -> bytes | None:
        if not patient:
            found = await self._ask("GET", PREFIX + key)
        elif (found := await self._own.get(key)) is None:
            found = await self._ask_patiently("GET", PREFIX + key)
        return found if isinstance(found, bytes) else None

    async def put(self, key: str, value: bytes, *, keep: timedelta) -> None:
        if self._is_told:
            await self._own.put(key, value, keep=keep)
        if len(value) <= LARGEST_VALUE:
            await self._ask("SET", PREFIX + key, value, "PX", round(keep.total_seconds() * 1000))

    async def drop(self, key: str) -> bool:
        await self._own.drop(key)
        return await self._ask("DEL", PREFIX + key) is not None

    async def take(self, name: str, wanted: int, *, step: float, burst: int) -> Taken | None:
        words = ("EVAL", TAKE, 1, f"{PREFIX}tokens:{name}", wanted, round(step * 1e6), burst)
        found = await self._ask(*words)
        return Taken(int(found[0]), int(found[1]) / 1e6) if found else None

    async def publish(self, channel: str) -> None:
        await self._ask("PUBLISH", PREFIX + channel, "")

    async def _ask(self, *words: Any) -> Any:
        async with self._room:
            if time.monotonic() < self._rests_until:
                return None
            return await self._ask_now(*words, looks=LOOKS)

    async def _ask_patiently(self, *words: Any) -> Any:
        async with self._room:
            return await self._ask_now(*words, looks=PATIENT_LOOKS)

    async def _ask_now(self, *words: Any, looks: int) -> Any:
        try:
            async with _limit_looks(looks):
                answer = await self._client.execute_command(*words)
        except self._failures as exc:
            self._rests_until = time.monotonic() + REST_SECONDS
            if not self._is_sick:
                log.warning("cache.away", error=type(exc).__name__)
            self._is_sick = True
            return None
        if self._is_sick:
            self._is_sick = False
            log.info("cache.back")
        return answer


@asynccontextmanager
async def _limit_looks(looks: int) -> AsyncGenerator[None]:
    """As `asyncio.timeout`, for so many looks of a machine that lets us run."""
    loop = asyncio.get_running_loop()

    def look(left: int) -> None:
        nonlocal timer
        if left:
            timer = loop.call_later(LOOK_SECONDS, look, left - 1)
        else:
            limit.reschedule(0)

    async with asyncio.timeout(None) as limit:
        timer = loop.call_later(LOOK_SECONDS, look, looks - 1)
        try:
            yield
        finally:
            timer.cancel()


@asynccontextmanager
async def open_cache(redis_url: str | None, *, is_told: bool = True) -> AsyncGenerator[Cache]:
    """Redis where there is an address, else this process's memory.

    `is_told`: whoever uses it hears what other processes change.
    """
    if redis_url is None:
        yield MemoryCache()
        return
    client, failures = _connect(redis_url)
    try:
        yield RedisCache(client, failures, is_told=is_told)
    finally:
        await client.aclose()


async def listen(redis_url: str, *channels: str) -> AsyncGenerator[str | None]:
    """Channels as they are rung; None with each new connection, before which some may be missed."""
    while True:
        client, failures = _connect(redis_url)
        with suppress(*failures):
            async for channel in _listen_once(client, [PREFIX + channel for channel in channels]):
                yield channel
        await client.aclose()
        await asyncio.sleep(REST_SECONDS)


async def _listen_once(client: Any, names: Sequence[str]) -> AsyncGenerator[str | None]:
    async with client.pubsub(ignore_subscribe_messages=True) as inbox:
        await inbox.subscribe(*names)
        yield None
        async for word in inbox.listen():
            yield word["channel"].decode().removeprefix(PREFIX)


def _connect(redis_url: str) -> tuple[Any, tuple[type[BaseException], ...]]:
    """A client that connects when it is first used, and what it may raise."""
    try:
        from redis import asyncio as redis  # noqa: PLC0415
        from redis import exceptions  # noqa: PLC0415
    except ImportError as exc:
        raise CommandError(
            f"REDIS_URL needs a library that is not installed ({exc.name}).\n"
            + advise_extra("redis")
        ) from exc
    try:
        client = cast(Any, redis.Redis).from_url(
            redis_url, socket_connect_timeout=PATIENT_LOOKS * LOOK_SECONDS, health_check_interval=10
        )
    except ValueError as exc:
        raise CommandError(f"REDIS_URL can't be used: {exc}.") from exc
    return client, (exceptions.RedisError, OSError, TimeoutError)
