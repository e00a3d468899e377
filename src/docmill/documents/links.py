"""Addresses that open one thing for a while: the store's own, or ours with a signature."""

import hashlib
import hmac
import secrets
import time
from datetime import timedelta
from typing import Final
from urllib.parse import quote, urlencode

from starlette.requests import Request

from docmill.core.faults import DocmillError
from docmill.storage.contract import Store
from docmill.web.config import WebConfig

PATH: Final = "/files"
# In the store itself: every process that can serve its files finds the same one.
SECRET_KEY: Final = "links/secret"  # noqa: S105  a key, not the secret
SECRET_BYTES: Final = 32


def find_base(request: Request, config: WebConfig) -> str:
    """Where this site is reached. Behind a proxy that ends TLS the request itself says http."""
    base = request.base_url
    return str(base.replace(scheme="https") if config.secure_cookies else base).rstrip("/")


class SignedLinks:
    """Makes and checks the addresses of one store."""

    def __init__(self, store: Store) -> None:
        self._store: Store = store
        self._known: bytes | None = None

    async def url(self, key: str, *, expires: timedelta, base: str, filename: str = "") -> str:
        """`base` is where this site is reached, for stores that sign nothing themselves."""
        if signed := await self._store.signed_url(key, expires=expires):
            return signed
        until, signature = await self.sign(f"{key}\n{filename}", expires)
        asked = {"until": until, "name": filename, "signature": signature}
        return f"{base.rstrip('/')}{PATH}/{quote(key)}?{urlencode(asked)}"

    async def sign(self, about: str, expires: timedelta) -> tuple[int, str]:
        """Until when, in seconds since 1970, and the signature of what it is about.

        The first line of `about` says what for, so that no signature is good for something else.
        """
        until = int(time.time() + expires.total_seconds())
        return until, await self._signature(about, until)

    async def check(self, about: str, until: int, signature: str) -> None:
        """Refuses an address that was changed, or whose time is over."""
        right = await self._signature(about, until)
        if not hmac.compare_digest(right.encode(), signature.encode()) or time.time() >= until:
            raise DocmillError("LINK_EXPIRED")

    async def _signature(self, about: str, until: int) -> str:
        message = f"{until}\n{about}"
        return hmac.new(await self._secret(), message.encode(), hashlib.sha256).hexdigest()

    async def _secret(self) -> bytes:
        if self._known is None:
            # Of many processes that start at once, one makes it and all read it.
            if await self._store.head(SECRET_KEY) is None:
                await self._store.create(SECRET_KEY, secrets.token_bytes(SECRET_BYTES))
            self._known = b"".join([chunk async for chunk in self._store.chunks(SECRET_KEY)])
        return self._known
