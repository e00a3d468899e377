"""Stored bytes on their way out."""

from collections.abc import AsyncIterator
from urllib.parse import quote

from docmill.storage import Store


async def opened(store: Store, key: str) -> tuple[bytes, AsyncIterator[bytes]]:
    """The first bytes, and all of them. They are read now, so a missing file gets its answer."""
    chunks = store.chunks(key)
    first = await anext(chunks, b"")

    async def whole() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    return first, whole()


def attachment(name: str) -> str:
    return disposition("attachment", name)


def disposition(way: str, name: str) -> str:
    """RFC 6266: a plain name for old clients, the whole one for the others."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in " ._-") else "_" for c in name)
    return f"{way}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
