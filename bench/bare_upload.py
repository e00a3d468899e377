"""The bare handler: streams, hashes and stores with docmill's own parts, commits one row, and
nothing else.

`python -m bench.bare_upload FOLDER DATABASE_URL`; no checks, no JSON; on uvloop, as docmill runs.
"""

import re
import sys
from pathlib import Path
from typing import Any, Final

import multipart
import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings

from docmill.db.pool import Pool, open_pool
from docmill.documents.staging import FileStage
from docmill.storage import open_store
from docmill.storage.contract import Store
from docmill.web import server

TABLE: Final = (
    "CREATE TABLE files (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sha256 text)"
)
ADD: Final = "INSERT INTO files (sha256) VALUES (%s)"


class Bare:
    """One ASGI application."""

    def __init__(self, store: Store, pool: Pool) -> None:
        self._store: Store = store
        self._pool: Pool = pool

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        kind = dict(scope["headers"])[b"content-type"].decode()
        found = re.search("boundary=(.+)", kind)
        assert found
        stage = await self._read(receive, multipart.PushMultipartParser(found[1]))
        staged = await stage.finish()
        await staged.writer.commit()
        async with self._pool.statements() as conn:
            await conn.execute(ADD, (staged.sha256,))
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


async def serve(folder: Path, url: str) -> None:
    """Granian with the options docmill gives it."""
    async with open_pool(url) as pool:
        async with pool.connection() as conn:
            await conn.execute(TABLE)
        await _serve(folder, pool)


async def _serve(folder: Path, pool: Pool) -> None:
    listener = server.bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    app: Any = Bare(open_store(str(folder)), pool)
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
    uvloop.run(serve(Path(sys.argv[1]), sys.argv[2]))
