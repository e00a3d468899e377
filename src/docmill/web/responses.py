"""Stored bytes on their way out: nothing leaves that was not held against its row."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final, Protocol
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from docmill.storage.checked import CheckedObject

# Whoever gives up shortly before the end is noticed before the last byte goes.
NOTICE_SECONDS: Final = 0.01


class EncodedJson(Response):
    """JSON that is encoded already, for the routes that are asked most: made and sent in a step."""

    def __init__(self, body: bytes) -> None:
        self.status_code: int = 200
        self.background: None = None
        self.body: bytes = body
        self.raw_headers: list[tuple[bytes, bytes]] = [
            (b"content-length", b"%d" % len(body)),
            (b"content-type", b"application/json"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = self.raw_headers
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class Handover(Protocol):
    """What is done around the last byte of an answer.

    First `begin`; then `complete`, when all was handed over, or `undo`, when the client is gone.
    """

    async def begin(self) -> None: ...
    async def complete(self) -> None: ...
    async def undo(self) -> None: ...


class CheckedResponse(Response):
    """An object that was checked, as it is stored or unpacked; it is closed at the end.

    Starlette's own stream is cancelled when the client goes, which one that has all it wants may
    do before we know that it was sent. Here nothing is cancelled: who is gone is noted.
    """

    def __init__(
        self,
        checked: CheckedObject,
        *,
        headers: Mapping[str, str],
        media_type: str | None,
        packed: bool = False,
        handover: Handover | None = None,
    ) -> None:
        super().__init__(None, headers=headers, media_type=media_type)
        self._checked: CheckedObject = checked
        self._packed: bool = packed
        self._handover: Handover | None = handover
        expected = checked.expected
        length = expected.packed_bytes if packed else expected.bytes
        self.headers["content-length"] = str(length)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await _start(self, send)
            async with _watching(receive) as gone:
                await self._send(gone, send)
        finally:
            self._checked.close()

    async def _send(self, gone: asyncio.Task[None], send: Send) -> None:
        last = b""
        async for piece in self._checked.raw() if self._packed else self._checked.content():
            if last:
                await _send_piece(send, last)
            if gone.done():
                return
            last = piece
        if self._handover is None:
            await _send_piece(send, last, more=False)
        else:
            await _hand_over(self._handover, gone, send, last)


class HandedOver(Response):
    """A body that is whole already, with something to do around its last byte."""

    def __init__(
        self, body: bytes, handover: Handover, *, headers: Mapping[str, str], media_type: str
    ) -> None:
        super().__init__(body, headers=headers, media_type=media_type)
        self._handover: Handover = handover

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _start(self, send)
        async with _watching(receive) as gone:
            await _hand_over(self._handover, gone, send, bytes(self.body))


async def _start(response: Response, send: Send) -> None:
    headers, status = response.raw_headers, response.status_code
    await send({"type": "http.response.start", "status": status, "headers": headers})


@asynccontextmanager
async def _watching(receive: Receive) -> AsyncGenerator[asyncio.Task[None]]:
    """A task that is done when the client is gone."""
    gone = asyncio.create_task(_wait_until_gone(receive))
    try:
        yield gone
    finally:
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)


async def _hand_over(handover: Handover, gone: asyncio.Task[None], send: Send, last: bytes) -> None:
    """Who has not got the last byte has not got it all, so whoever wants it is still here.

    Of nothing there is no last byte: who got the head of the answer has it all, and may be gone.
    """
    if last:
        await _send_piece(send, last[:-1])
        await asyncio.wait({gone}, timeout=NOTICE_SECONDS)
        if gone.done():
            return
    await handover.begin()
    if last and gone.done():
        await handover.undo()
        return
    await _send_piece(send, last[-1:], more=False)
    await handover.complete()


async def _send_piece(send: Send, piece: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": more})


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def attachment_header(name: str) -> str:
    return disposition_header("attachment", name)


def disposition_header(way: str, name: str) -> str:
    """RFC 6266: a plain name for old clients, the whole one for the others."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in " ._-") else "_" for c in name)
    return f"{way}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
