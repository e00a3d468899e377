"""How much one may ask for: buckets of tokens, by owner and, for the anonymous, by address.

Uploads of an owner are counted in the database, for all web processes together. Addresses and
reads are counted in Redis where there is one, else here: then each web process allows as much.
"""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from starlette.requests import Request

from docmill.cache import Cache
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner, OwnerKey
from docmill.db.pool import Connection, Pool, write
from docmill.web.config import WebConfig

# Many people may share an address, and each has a session; so much more than one owner they get.
PEOPLE: Final = 10
# A bucket that nobody has asked for longest is forgotten first.
MOST_BUCKETS: Final = 100_000
# An IPv6 customer has 2^64 addresses of his own.
IPV6_NETWORK: Final = 64


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """How many were given, and how the bucket stands: tokens left, seconds until it is full."""

    given: int
    left: int = 0
    retry_after: float = 0.0
    full_after: float = 0.0
    burst: int = 0


@dataclass(frozen=True, slots=True)
class UploadRate:
    """A bucket of tokens: so many come in a minute, and so many fit in."""

    per_minute: int
    burst: int

    @property
    def seconds(self) -> float:
        """Until the next token comes."""
        return 60 / self.per_minute

    def grant(self, given: int, full_after: float) -> Grant:
        missing = full_after / self.seconds
        left = max(0, math.floor(self.burst - missing + 1e-6))
        until_next = max(0.0, (missing - (self.burst - 1)) * self.seconds)
        return Grant(given, left, until_next, full_after, self.burst)


class TokenBuckets:
    """Buckets of one pace, by name. A full one is the same as none."""

    def __init__(self, pace: UploadRate, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace: UploadRate = pace
        self._clock: Callable[[], float] = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, name: str, wanted: int = 1) -> Grant:
        """As many tokens as there are, up to those wanted."""
        now, step = self._clock(), self._pace.seconds
        full_at = max(self._full_at.pop(name, now), now)
        there = math.floor((self._pace.burst * step - (full_at - now)) / step + 1e-6)
        given = max(0, min(wanted, there))
        full_at += given * step
        self._full_at[name] = full_at
        if len(self._full_at) > MOST_BUCKETS:
            self._full_at.popitem(last=False)
        return self._pace.grant(given, full_at - now)


class SharedBuckets:
    """Buckets that all web processes share; while they can't be, those of this process."""

    def __init__(self, kind: str, pace: UploadRate, cache: Cache) -> None:
        self._kind: str = kind
        self._pace: UploadRate = pace
        self._cache: Cache = cache
        self._own: TokenBuckets = TokenBuckets(pace)

    async def take(self, name: str, wanted: int = 1) -> Grant:
        pace = self._pace
        shared = await self._cache.take(
            f"{self._kind}:{name}", wanted, step=pace.seconds, burst=pace.burst
        )
        return pace.grant(*shared) if shared else self._own.take(name, wanted)


@dataclass(frozen=True, slots=True)
class RequestSender:
    """Who asks, and from where. `is_new` when no session of ours came with the request."""

    owner: Owner
    address: str
    is_new: bool

    @property
    def is_anonymous(self) -> bool:
        return self.owner.key.startswith("session:")


class RateLimits:
    """The limits of one web process."""

    def __init__(self, config: WebConfig, pool: Pool, cache: Cache) -> None:
        self._pool: Pool = pool
        self._uploads: UploadRate | None = None
        if config.uploads_per_minute:
            self._uploads = UploadRate(config.uploads_per_minute, config.uploads_burst)
        self._proxies: Sequence[str] = config.trusted_proxies
        pace = self._uploads or UploadRate(1, 1)
        self._newcomers: SharedBuckets = SharedBuckets("new", pace, cache)
        self._neighbours: SharedBuckets = SharedBuckets(
            "address", UploadRate(PEOPLE * pace.per_minute, PEOPLE * pace.burst), cache
        )
        self._reads: SharedBuckets | None = None
        if reads := config.reads_per_minute:
            self._reads = SharedBuckets("reads", UploadRate(reads, reads), cache)

    def sender(self, request: Request, owner: Owner) -> RequestSender:
        is_new = getattr(request.state, "set_cookie", None) is not None
        return RequestSender(owner, client_address(request, self._proxies), is_new)

    async def check_read(self, request: Request, owner: Owner) -> None:
        """Raises TOO_MANY_REQUESTS; who comes without a session is counted by address."""
        if self._reads is None:
            return
        sender = self.sender(request, owner)
        name = sender.address if sender.is_new else sender.owner.key
        grant = await self._reads.take(name)
        if not grant.given:
            raise DocmillError("TOO_MANY_REQUESTS", retryAfter=grant.retry_after)

    async def take_uploads(self, sender: RequestSender, wanted: int) -> Grant:
        """How many of these files may come in now; the tightest of the sender's limits says so."""
        pace = self._uploads
        if pace is None or not wanted:
            return Grant(wanted)
        tightest = Grant(wanted)
        if sender.is_anonymous:
            tightest = await self._neighbours.take(sender.address, wanted)
        if sender.is_new:
            tightest = min(tightest, await self._newcomers.take(sender.address, tightest.given))
        if not tightest.given:
            return tightest
        given = tightest.given
        own = await write(
            self._pool, lambda conn: take_uploads(conn, sender.owner.key, given, pace)
        )
        return min(own, tightest) if sender.is_new else own


def client_address(request: Request, proxies: Sequence[str]) -> str:
    """The peer, or whom the last trusted proxy saw; of IPv6 its network."""
    address = request.client.host if request.client else ""
    if not proxies:
        return _name_address(address)
    hops = [hop.strip() for hop in request.headers.get("x-forwarded-for", "").split(",")]
    while hops and _is_in(address, proxies):
        address = hops.pop() or address
    return _name_address(address)


@lru_cache(maxsize=1024)
def _name_address(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, IPV6_NETWORK), strict=False))
    return str(found)


def _is_in(address: str, networks: Sequence[str]) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(found in ipaddress.ip_network(network, strict=False) for network in networks)


# A bucket is one time: when it will be full again. Each token taken puts it off by as long as a
# token takes to come. (The column is named for what it held before; `given` is what fits.)
TAKE_UPLOADS: Final = """
WITH bucket AS (
    INSERT INTO owners AS mine (owner) VALUES (%(owner)s)
    ON CONFLICT (owner) DO UPDATE SET changed_at = mine.changed_at
    RETURNING greatest(window_started_at, now()) AS full_at),
fit AS (
    SELECT full_at, least(%(wanted)s, floor(
               (%(burst)s * %(step)s - extract(epoch FROM full_at - now())) / %(step)s
               + 1e-6))::int AS given
      FROM bucket)
SELECT greatest(given, 0), full_at + greatest(given, 0) * %(step)s * interval '1 second',
       extract(epoch FROM full_at - now())::float8 + greatest(given, 0) * %(step)s
  FROM fit
"""
FILL_BUCKET: Final = "UPDATE owners SET window_started_at = %(full_at)s WHERE owner = %(owner)s"


async def take_uploads(conn: Connection, owner: OwnerKey, wanted: int, pace: UploadRate) -> Grant:
    """As many tokens for uploads as the owner has, up to those wanted. The row is locked."""
    # Losing a count in a crash harms nobody, so nobody waits for the disk.
    await conn.execute("SET LOCAL synchronous_commit = off")
    args = {"owner": owner, "wanted": wanted, "burst": pace.burst, "step": pace.seconds}
    row = await (await conn.execute(TAKE_UPLOADS, args)).fetchone()
    assert row is not None
    given, full_at, full_after = row
    if given:
        await conn.execute(FILL_BUCKET, {"owner": owner, "full_at": full_at})
    return pace.grant(given, full_after)
