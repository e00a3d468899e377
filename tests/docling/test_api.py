"""docling-serve's routes, asked as its clients ask."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import httpx2
import pytest

from sites import PDF_FILE, Site, complete, fail

pytestmark = pytest.mark.anyio

Start = Callable[..., AbstractAsyncContextManager[Site]]
OPTIONS = {"to_formats": ["md", "json"], "pipeline": "standard", "do_ocr": "true"}
BOX = [72.0, 60.0, 200.0, 75.0]
FOUND = {
    "pages": [
        {
            "number": 1,
            "width": 595.0,
            "height": 842.0,
            "text": "Offer\n• tea\n• milk",
            "blocks": [
                {"kind": "header", "text": "page 1", "box": BOX},
                {"kind": "heading", "text": "Offer *1*", "box": BOX, "level": 1},
                {"kind": "list_item", "text": "• tea", "box": BOX},
                {"kind": "list_item", "text": "2) milk", "box": BOX},
                {"kind": "table", "text": "a | b", "box": BOX, "table": 0},
                {"kind": "paragraph", "text": "# no heading", "box": BOX},
            ],
        }
    ],
    "tables": [
        {
            "page": 1,
            "box": BOX,
            "rows": 2,
            "columns": 2,
            "cells": [
                {"row": 0, "column": 0, "row_span": 1, "column_span": 2, "text": "a|b"},
                {"row": 1, "column": 1, "row_span": 1, "column_span": 1, "text": "7"},
            ],
        }
    ],
}
MARKED = """# Offer \\*1\\*

- tea
2. milk

| a\\|b |  |
| --- | --- |
|  | 7 |

\\# no heading
"""


async def convert(client: httpx2.AsyncClient, **options: object) -> httpx2.Response:
    files = {"files": ("an offer.pdf", PDF_FILE, "application/pdf")}
    return await client.post("/v1/convert/file/async", data=OPTIONS | options, files=files)


async def test_a_file_is_converted_as_docling_would(start: Start) -> None:
    async with start(switches=frozenset({"docling"})) as site, site.client() as client:
        task = (await convert(client)).json()
        assert (task["task_status"], task["task_type"]) == ("pending", "convert")
        early = await client.get(f"/v1/result/{task['task_id']}")
        assert early.status_code == 409
        await complete(site, task["task_id"], httpx2.Response(200, json=FOUND).content)

        polled = await client.get(f"/v1/status/poll/{task['task_id']}", params={"wait": 5})
        assert polled.json()["task_status"] == "success"
        assert polled.json()["task_meta"]["num_succeeded"] == 1
        result = (await client.get(f"/v1/result/{task['task_id']}")).json()

    assert result["status"] == "success"
    assert result["document"]["filename"] == "an offer.pdf"
    assert result["document"]["md_content"] == MARKED
    assert "page 1" not in result["document"]["text_content"]
    told = result["document"]["json_content"]
    assert told["schema_name"] == "DoclingDocument"
    assert [text["label"] for text in told["texts"]] == [
        "section_header", "list_item", "list_item", "text",
    ]  # fmt: skip
    assert told["body"]["children"] == [
        {"$ref": ref} for ref in ("#/texts/0", "#/groups/0", "#/tables/0", "#/texts/3")
    ]
    assert told["texts"][0]["prov"][0]["bbox"]["t"] == 842 - 60
    assert told["tables"][0]["data"]["table_cells"][0]["col_span"] == 2


async def test_a_task_that_failed_says_why(start: Start) -> None:
    async with start(switches=frozenset({"docling"})) as site, site.client() as client:
        task = (await convert(client)).json()["task_id"]
        await fail(site, task)
        assert (await client.get(f"/v1/status/poll/{task}")).json()["task_status"] == "failure"
        result = (await client.get(f"/v1/result/{task}")).json()

    assert result["kind"] == "TaskFailureResult"
    assert result["failure"]["details"]["code"]


async def test_a_task_is_its_owners_alone(start: Start) -> None:
    async with (
        start(switches=frozenset({"docling"})) as site,
        site.client() as client,
        site.client() as other,
    ):
        task = (await convert(client)).json()["task_id"]
        for path in (f"/v1/status/poll/{task}", f"/v1/result/{task}"):
            assert (await other.get(path)).status_code == 403
            key = {"x-api-key": client.cookies["docmill_session"]}
            assert (await other.get(path, headers=key)).status_code != 403
        assert (await client.get("/v1/status/poll/nonsense")).status_code == 404


async def test_another_target_is_refused_before_anything_is_stored(start: Start) -> None:
    async with start(switches=frozenset({"docling"})) as site, site.client() as client:
        refused = await convert(client, target_type="presigned_url")
        assert refused.status_code == 400
        assert "presigned_url" in refused.json()["detail"]
        assert (await client.get("/api/jobs")).json()["jobs"] == []


async def test_the_door_is_closed_unless_opened(client: httpx2.AsyncClient) -> None:
    assert (await convert(client)).status_code == 404
