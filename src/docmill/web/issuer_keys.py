"""The keys that an issuer of tokens publishes (JWKS): fetched, kept, and fetched again when due.

A token of an unknown key makes us look once more, for keys are rotated; but not more often than
every PAUSE_SECONDS, or anybody could make us flood the issuer. While the issuer can't be reached
the keys we know are still good.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import httpx2
import jwt
import structlog

from docmill.core.faults import DocmillError

log = structlog.get_logger()

REFRESH_SECONDS: Final = 300.0
PAUSE_SECONDS: Final = 10.0
FETCH_SECONDS: Final = 5.0
LARGEST: Final = 1 << 20
# What a key of each algorithm looks like: the header of a token chooses among keys of its own kind.
SHAPES: Final[Mapping[str, Mapping[str, str]]] = {
    "RS256": {"kty": "RSA"},
    "ES256": {"kty": "EC", "crv": "P-256"},
}
Jwk = Mapping[str, Any]


class UnknownKeyError(jwt.PyJWTError):
    """The issuer has no such key."""


class IssuerKeys:
    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url: str = url
        self._clock: Callable[[], float] = clock
        self._keys: list[Jwk] = []
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._failure: str = ""
        self._fetching: asyncio.Lock = asyncio.Lock()

    async def find(self, kid: Any, algorithm: str) -> Any:
        """The key of a token's header; raises UnknownKeyError or KEYS_UNREACHABLE."""
        if self._is_older(self._fetched_at, REFRESH_SECONDS):
            await self._fetch()
        key = self._choose(kid, algorithm)
        if key is None and await self._fetch():
            key = self._choose(kid, algorithm)
        if key is not None:
            return jwt.PyJWK(dict(key), algorithm).key
        if self._failure:
            raise DocmillError("KEYS_UNREACHABLE", self._failure, retryAfter=PAUSE_SECONDS)
        raise UnknownKeyError("the issuer has no such key")

    def _choose(self, kid: Any, algorithm: str) -> Jwk | None:
        """By its id, or the only one of its kind where a token names none."""
        shape = SHAPES[algorithm]
        usable = [
            key
            for key in self._keys
            if all(key.get(name) == value for name, value in shape.items())
            and key.get("use", "sig") == "sig"
            and key.get("alg", algorithm) == algorithm
        ]
        if kid is not None:
            usable = [key for key in usable if key.get("kid") == kid]
        return usable[0] if len(usable) == 1 else None

    async def _fetch(self) -> bool:
        """Whether keys came just now; nobody asks again so soon after the last time."""
        seen = self._tried_at
        async with self._fetching:
            if self._tried_at != seen:  # somebody else did while we waited
                return not self._failure
            if not self._is_older(self._tried_at, PAUSE_SECONDS):
                return False
            self._tried_at = self._clock()
            try:
                self._keys = await _download(self._url)
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as exc:
                self._failure = type(exc).__name__
                log.warning("issuer_keys.unreachable", error=self._failure, known=len(self._keys))
                return False
            self._failure = ""
            self._fetched_at = self._clock()
            return True

    def _is_older(self, at: float | None, seconds: float) -> bool:
        return at is None or self._clock() - at >= seconds


async def _download(url: str) -> list[Jwk]:
    async with httpx2.AsyncClient(timeout=FETCH_SECONDS) as http:
        answer = await http.get(url)
    answer.raise_for_status()
    if len(answer.content) > LARGEST:
        raise ValueError("too large")
    found: Any = json.loads(answer.content)
    keys: Any = cast("dict[str, Any]", found).get("keys") if isinstance(found, dict) else None
    if not isinstance(keys, list):
        raise ValueError("no keys")
    return [cast("Jwk", key) for key in cast("list[Any]", keys) if isinstance(key, dict)]
