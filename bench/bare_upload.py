"""The bare handler: streams, hashes and stores with docmill's own parts, and nothing else.

`python -m bench.bare_upload FOLDER`; no database, no checks, no JSON.
"""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import multipart
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings

from docmill.documents.accept import FileStage
from docmill.storage import open_store
from docmill.storage.contract import Store
from docmill.web import server


class Bare:
    """One ASGI application."""

    def __init__(self, store: Store) -> None:
        self._store: Store = store

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        kind = dict(scope["headers"])[b"content-type"].decode()
        found = re.search("boundary=(.+)", kind)
        assert found
        stage = await self._read(receive, multipart.PushMultipartParser(found[1]))
        staged = await stage.finish()
        await staged.writer.commit()
        body = staged.sha256.encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _read(self, receive: Any, parser: multipart.PushMultipartParser) -> FileStage:
        stage = FileStage(self._store, "a.pdf", max_bytes=1 << 30)
        more = True
        with parser:
            while more:
                message = await receive()
                more = message.get("more_body", False)
                for event in parser.parse(message.get("body", b"")):
                    if isinstance(event, (bytes, bytearray)):
                        await stage.write(event)
        return stage


async def serve(folder: Path) -> None:
    """Granian with the options docmill gives it."""
    listener = server.bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    app: Any = Bare(open_store(str(folder)))
    granian = server.OwnSocketServer(
        app,
        listener,
        address="127.0.0.1",
        port=port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=False,
        backlog=server.BACKLOG,
        backpressure=server.CONNECTIONS,
        http1_settings=HTTP1Settings(header_read_timeout=server.HEADER_MS),
        log_enabled=False,
    )
    print(f"bare handler at http://127.0.0.1:{port}", flush=True)
    await granian.serve()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
