"""The OpenAPI document and the API agree: schemathesis, with every check, finds nothing.

A few examples of each operation, the same each time; `python -m bench.contract` tries many more.
"""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import httpx2
import pytest

from bench import contract
from docmill.extract import search
from docmill.processes import web
from docmill.sandbox.limits import RunLimits
from docmill.sandbox.pool import SandboxPool
from docmill.web import params
from docmill.web.params import Cursor
from sites import INVOICES, PDF_FILE, Site, Start, complete, upload_to

pytestmark = pytest.mark.anyio

OPTIONS = (
    "--seed", "7", "--max-examples", "1", "--generation-deterministic", "--no-color",
    "--phases", "coverage,fuzzing",
)  # fmt: skip
# Enough of each, for its forms and a review of it.
INVOICE: dict[str, Any] = {
    "invoice_number": "4711",
    "currency": "EUR",
    "totals": {"net": "20.00"},
    "lines": [],
}
RESULTS: dict[str, Any] = {"extract": {"pages": []}, "invoice": INVOICE}


async def schemathesis(
    site: Site, folder: Path, config: str, *options: str, cookie: str = ""
) -> tuple[int, str]:
    """Its exit code and what it says; the site answers meanwhile."""
    file = folder / "schemathesis.toml"
    file.write_text(config)
    target = contract.Site(site.url, {"Cookie": cookie} if cookie else {})
    words = contract.command(target, file, (*OPTIONS, *options))
    process = await asyncio.create_subprocess_exec(
        *words, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def known(client: httpx2.AsyncClient, site: Site) -> dict[str, list[str | int]]:
    """Ids of what is there: a complete job of each pipeline, and their documents."""
    jobs: list[str | int] = []
    for pipeline, data in RESULTS.items():
        job_id = await upload_to(client, pipeline, PDF_FILE)
        await complete(site, job_id, json.dumps(data).encode())
        jobs.append(job_id)
    doomed = await upload_to(client, "extract", PDF_FILE + b"\n")
    documents = (await client.get("/api/documents")).json()["documents"]
    made = [(await client.post("/api/webhooks", json={"url": contract.NOWHERE})) for _ in range(3)]
    return {
        "webhooks": [each.json()["id"] for each in made],
        "jobs": jobs,
        "doomed": [doomed],
        "documents": [each["document_id"] for each in documents],
        "trades": jobs,
        "revisions": [0],
    }


def cookie_of(client: httpx2.AsyncClient) -> str:
    return "; ".join(f"{name}={value}" for name, value in client.cookies.items())


async def test_schemathesis_finds_nothing_in_the_whole_api(start: Start, tmp_path: Path) -> None:
    children = SandboxPool(RunLimits(), pipelines=web.list_preview_runs())
    async with (
        children,
        start(
            offer=INVOICES,
            switches=frozenset({"docling"}),
            sandbox=children,
            webhook_allow=("127.0.0.0/8",),
        ) as site,
        site.client() as client,
    ):
        config = contract.configure(await known(client, site))
        code, said = await schemathesis(site, tmp_path, config, cookie=cookie_of(client))
    assert code == 0, said
    tested = re.search(r"Selected: (\d+)/(\d+)\s+Tested: (\d+)", said)
    assert tested is not None, said
    selected, all_of_them, done = map(int, tested.groups())
    assert selected == done == all_of_them - 1 > 50  # all but the stream that never ends


async def test_schemathesis_finds_a_refusal_that_no_schema_speaks_of(
    start: Start, tmp_path: Path
) -> None:
    """Random bytes are no PDF: without its exception, the upload is found. The lane can fail."""
    config = "[checks]\nenabled = true"
    only = ("--include-path", "/api/upload")
    async with start() as site:
        code, said = await schemathesis(site, tmp_path, config, *only)
    assert code == 1, said
    assert "Schema-valid request rejected" in said


def test_a_cursor_names_the_place_it_was_written_for() -> None:
    now = datetime.now(UTC)
    for place in (now, Cursor(now, uuid4())):  # pyright: ignore[reportArgumentType]  any id
        assert params.read_cursor(params.write_cursor(place)) == place
    rank = search.RankPosition(0.123456789, 4711)
    assert search.read_rank_cursor(search.write_rank_cursor(rank)) == rank


@pytest.mark.parametrize(
    "cursor", ["A" * 32, "_" * 32, "f" + "_" * 31, "g" + "A" * 31, "A" * 11, "_" * 10 + "8"]
)
async def test_every_text_of_the_form_of_a_cursor_is_a_cursor(
    client: httpx2.AsyncClient, cursor: str
) -> None:
    answer = await client.get("/api/jobs", params={"cursor": cursor})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "address",
    [
        "/api/trades?since=0", "/api/trades?until=20260131", "/api/trades?until=1700000000",
        "/api/trades?document=x", "/api/jobs?cursor=" + "A" * 31, "/api/jobs?cursor=" + "A" * 22,
        "/api/jobs?status=%09", "/api/trades?cursor=" + "A" * 11, "/api/search?q=x&until=0",
        "/api/reviews?cursor=" + "A" * 11,
    ],
)  # fmt: skip
async def test_what_is_not_of_the_documented_form_is_refused(
    client: httpx2.AsyncClient, address: str
) -> None:
    answer = await client.get(address)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("limit", [5, 5.0, 1e2])
async def test_a_whole_number_may_have_a_fraction_of_zero(
    client: httpx2.AsyncClient, limit: float
) -> None:
    assert (await client.post("/api/reprocess", json={"limit": limit})).status_code == 200
    for wrong in (5.5, True, "5", 1e300):
        answer = await client.post("/api/reprocess", json={"limit": wrong})
        assert answer.status_code == 400, wrong


@pytest.mark.parametrize(
    "body",
    [
        {"rates": None}, {"rates": ""}, {"tin": None}, {"tin": {}}, {"opt": 1}, {"country": True},
        {"rates": {"USD": None}}, {"rates": {"USD": 1e300}}, {"rates": {"USD": True}},
    ],
)  # fmt: skip
async def test_a_profile_of_other_types_is_refused(
    client: httpx2.AsyncClient, body: dict[str, object]
) -> None:
    assert (await client.put("/api/profile", json=body)).status_code == 400
    for rate, text in ((16250, "16250"), (16250.5, "16250.5"), ("16250", "16250")):
        kept = await client.put("/api/profile", json={"rates": {"usd": rate}})
        assert kept.json()["rates"] == {"USD": text}


def texts(schema: Any) -> list[dict[str, Any]]:
    """Every schema of a text inside this one."""
    if isinstance(schema, list):
        return [found for each in cast("list[Any]", schema) for found in texts(each)]
    if not isinstance(schema, dict):
        return []
    known = cast("dict[str, Any]", schema)
    inside = [found for part in known.values() for found in texts(part)]
    return [known, *inside] if known.get("type") == "string" else inside


async def test_every_text_that_can_be_sent_says_what_it_may_hold(
    client: httpx2.AsyncClient,
) -> None:
    document = (await client.get("/openapi.json")).json()
    sent = [
        part
        for operations in document["paths"].values()
        for operation in operations.values()
        for part in (operation.get("parameters", []), operation.get("requestBody", {}))
    ]
    found = texts([*sent, document["components"]["schemas"]["Edit"]])
    assert len(found) > 80
    for each in found:
        assert {"pattern", "format", "enum", "anyOf", "const"} & each.keys(), each
