"""Files coming in over HTTP."""

from typing import Any

import httpx2
import pytest

from docmill.db.pool import Pool
from pdfs import make_pdf

pytestmark = pytest.mark.anyio

PDF = make_pdf([[(72, 72, "hello")]])


def part(data: bytes = PDF, name: str = "a.pdf") -> dict[str, Any]:
    return {"file": (name, data, "application/pdf")}


async def count(pool: Pool, table: str) -> int:
    async with pool.connection() as conn:
        row = await (await conn.execute(f"SELECT count(*) FROM {table}".encode())).fetchone()
    assert row is not None
    return row[0]


async def test_an_upload_becomes_a_job(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/upload", files=part())
    print(answer.status_code, answer.headers, answer.text)
    assert answer.status_code == 200
    job = answer.json()["job"]
    one = await client.get(f"/api/jobs/{job['id']}")
    print(one.text)
    print((await client.get("/api/jobs")).text)
    print((await client.get("/api/jobs/nonsense")).text)
    print((await client.get("/nonsense")).text)
    print((await client.put("/api/jobs")).text)
    print((await client.get("/api/jobs?limit=0")).text)
    print((await client.get("/openapi.json")).status_code)
    print((await client.post(f"/api/jobs/{job['id']}/cancel")).text)
    print((await client.delete(f"/api/jobs/{job['id']}")).status_code)
