"""One JSON service of somebody else: a POST out, JSON back, and every failure told as a fault."""

import asyncio
import json
import re
from collections.abc import AsyncIterable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final, Self

import httpx2

from docmill import tracing
from docmill.core.faults import DocmillError

CONNECT_SECONDS: Final = 10.0
# What a run can be given as an answer is not much larger.
MOST_BYTES: Final = 24 << 20
# OpenAI's word for an account without money, which no waiting mends.
SPENT: Final = "insufficient_quota"
# A service's own word for what went wrong; a sentence might quote the document.
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")


class Endpoint:
    """Use as a context manager; any number of calls at a time."""

    def __init__(
        self,
        url: str,
        *,
        timeout: timedelta,
        headers: Mapping[str, str] | None = None,
        trust_env: bool = True,
    ) -> None:
        """`trust_env`: a proxy named in the environment knows the way to it."""
        self.url: str = url.rstrip("/")
        self._timeout: timedelta = timeout
        # A call is timed as a whole below.
        limits = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        self._http: httpx2.AsyncClient = httpx2.AsyncClient(
            timeout=limits, headers=dict(headers or {}), trust_env=trust_env
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def post(self, path: str = "", **content: Any) -> Any:
        """`content` is what httpx2 takes: `json`, `files`, `headers`. Raises DocmillError."""
        where = self.url + path
        content["headers"] = {**tracing.write_headers(), **content.get("headers", {})}
        with self._translate_errors(where):
            async with (
                asyncio.timeout(self._timeout.total_seconds()),
                self._http.stream("POST", where, **content) as answer,
            ):
                body = await read_body(answer.aiter_bytes(), where)
        if answer.status_code != HTTPStatus.OK:
            raise explain_refusal(
                where, answer.status_code, answer.headers.get("retry-after"), body
            )
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as exc:
            raise DocmillError("SERVICE_FAILED", f"{where}: the answer is not JSON") from exc

    @contextmanager
    def _translate_errors(self, where: str) -> Generator[None]:
        """What the network does, as a fault. The order matters: a time-out is a broken call too."""
        try:
            yield
        except (TimeoutError, httpx2.TimeoutException) as exc:
            seconds = self._timeout.total_seconds()
            raise DocmillError("SERVICE_TIMEOUT", f"{where}: no answer in {seconds:g} s") from exc
        except (httpx2.TransportError, httpx2.DecodingError) as exc:
            raise DocmillError("SERVICE_FAILED", f"{where}: {type(exc).__name__}") from exc


async def read_body(pieces: AsyncIterable[bytes], where: str) -> bytes:
    """A body, as long as it is not too long."""
    data = bytearray()
    async for piece in pieces:
        data += piece
        if len(data) > MOST_BYTES:
            raise DocmillError("SERVICE_REFUSED", f"{where}: more than {MOST_BYTES >> 20} MB")
    return bytes(data)


def explain_refusal(where: str, status: int, pause: str | None, body: bytes) -> DocmillError:
    """An answer that is none, as a fault. `pause` is its Retry-After."""
    word = _find_word(body)
    detail = " ".join(filter(None, (f"{where}: {status}", word)))
    seconds = parse_retry_after(pause, datetime.now(UTC))
    facts = {} if seconds is None else {"retryAfter": seconds}
    busy = status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
    if busy and word != SPENT:
        return DocmillError("SERVICE_BUSY", detail, **facts)
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return DocmillError("SERVICE_TIMEOUT", detail)
    refused = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    return DocmillError("SERVICE_REFUSED" if refused else "SERVICE_FAILED", detail)


def _find_word(body: bytes) -> str:
    try:
        return find_error_word(json.loads(body))
    except (ValueError, RecursionError):
        return ""


def find_error_word(told: Any) -> str:
    """A service's own word for what went wrong, the inner one where there are two."""
    try:
        error = told.get("error", told)
        error = error.get("innererror") or error
        word = error.get("code") or error.get("type") or ""
    except AttributeError:
        return ""
    return word if isinstance(word, str) and _WORD.fullmatch(word) else ""


def parse_retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds, from either form of Retry-After; None where there is none that can be read."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())
