"""Bare routes: one sends given bytes, the other looks for a job's row first; and nothing else.

`python -m bench.bare_route FILE DATABASE_URL`; on docmill's server and uvloop, with its pool.
"""

import sys
from pathlib import Path
from typing import Final
from uuid import UUID

import uvloop
from fastapi import FastAPI
from starlette.responses import Response

from docmill.db.pool import open_pool
from docmill.web import server

FIND: Final = "SELECT owner, updated_at FROM jobs WHERE id = %s"


async def serve(body: bytes, url: str) -> None:
    app = FastAPI()
    async with open_pool(url) as pool:

        @app.get("/bare/{job_id}")
        async def send(job_id: str) -> Response:
            return Response(body, media_type="application/json")

        @app.get("/row/{job_id}")
        async def find_and_send(job_id: str) -> Response:
            async with pool.statements() as conn:
                row = await (await conn.execute(FIND, (UUID(job_id),))).fetchone()
            assert row is not None
            return Response(body, media_type="application/json")

        await server.serve(app, "127.0.0.1", 0, ready=_say)


def _say(port: int) -> None:
    print(f"bare routes at http://127.0.0.1:{port}", flush=True)


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]).read_bytes(), sys.argv[2]))
