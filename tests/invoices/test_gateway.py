"""POST /process over a real socket, with the real reader in confined runs."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from docmill.core.faults import DocmillError
from docmill.core.plugins import PDF, Source, Tools
from docmill.invoices import formats
from docmill.invoices.gateway import MOST_JSON, Conversion
from docmill.invoices.pipeline import pipeline
from docmill.services.gateway import GatewayClient
from gateways import CORETAX, INVOICE, MOST_BYTES, gateway, served
from invoice_pdfs import run
from pdfs import encrypted_pdf, make_pdf
from waits import PATIENCE

pytestmark = pytest.mark.anyio

JSON = "application/json"
PROFILE = {"tin": "0123456789012345", "trx_code": "04", "opt": "B"}
XML = "application/xml"


@pytest.fixture(scope="module")
async def url() -> AsyncIterator[str]:
    async with gateway() as started:
        yield started


async def post(url: str, file: bytes | None, accept: str = JSON, **fields: str) -> httpx2.Response:
    files: Any = {"file": ("a.bin", file)} if file is not None else {"other": ("a", b"x")}
    async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
        headers = {"accept": accept}
        return await client.post(f"{url}/process", files=files, data=fields, headers=headers)


def said(answer: httpx2.Response) -> tuple[int, str, str]:
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["stage"] == answer.headers["x-stage"]
    assert body["status"] == answer.status_code
    return answer.status_code, body["code"], answer.headers["x-stage"]


async def test_a_pdf_becomes_the_json_the_pipeline_makes(url: str) -> None:
    answer = await post(url, INVOICE)
    assert (answer.status_code, answer.headers["x-stage"]) == (200, "read")
    assert answer.headers["content-type"] == JSON
    assert answer.headers["x-pipeline-version"] == pipeline.version
    assert answer.json() == run(INVOICE)


async def test_a_pdf_with_a_mapping_becomes_json_that_tells_what_the_mapping_doubts(
    url: str,
) -> None:
    answer = await post(url, INVOICE, mapping=CORETAX, pretty="true")
    assert answer.json()["mapping"] == CORETAX
    assert answer.json()["notes"]
    assert answer.text.startswith("{\n  ")


async def test_a_pdf_becomes_the_xml_of_its_mapping(url: str) -> None:
    answer = await post(url, INVOICE, XML, mapping=CORETAX)
    assert (answer.status_code, answer.headers["x-stage"]) == (200, "map")
    assert answer.headers["content-type"] == XML
    assert answer.content == formats.emit(formats.load(CORETAX), run(INVOICE)).xml


async def test_pretty_xml_is_what_a_job_keeps(url: str) -> None:
    answer = await post(url, INVOICE, XML, mapping=CORETAX, pretty="1")
    source = Source(io.BytesIO(INVOICE), "a.pdf", PDF, mapping=CORETAX)
    kept = pipeline.run(source, Tools(lambda _percent, _stage: None)).artifact
    assert kept
    assert answer.content == kept.content


@pytest.mark.parametrize("mapping", formats.list_names())
async def test_json_becomes_the_same_xml_as_the_pdf_it_was_read_of(url: str, mapping: str) -> None:
    data = (await post(url, INVOICE, mapping=mapping)).content
    from_json = await post(url, data, XML, mapping=mapping)
    from_pdf = await post(url, INVOICE, XML, mapping=mapping)
    assert (from_json.status_code, from_json.headers["x-stage"]) == (200, "map")
    assert from_json.content == from_pdf.content


@pytest.mark.parametrize("accept", ["*/*", "application/*", "text/html, */*;q=0.1"])
async def test_who_accepts_anything_gets_what_the_file_becomes(url: str, accept: str) -> None:
    assert (await post(url, INVOICE, accept)).headers["content-type"] == JSON
    data = json.dumps(run(INVOICE)).encode()
    assert (await post(url, data, accept, mapping=CORETAX)).headers["content-type"] == XML


async def test_the_better_form_is_chosen_by_weight(url: str) -> None:
    accept = "application/json;q=0.5, application/xml"
    assert (await post(url, INVOICE, accept, mapping=CORETAX)).headers["content-type"] == XML


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "application/xml;q=x"])
async def test_other_forms_are_not_acceptable(url: str, accept: str) -> None:
    assert said(await post(url, INVOICE, accept)) == (406, "NOT_ACCEPTABLE", "receive")


async def test_json_does_not_become_json(url: str) -> None:
    assert said(await post(url, b"{}")) == (406, "NOT_ACCEPTABLE", "receive")


async def test_xml_needs_a_mapping_that_exists(url: str) -> None:
    assert said(await post(url, INVOICE, XML)) == (400, "NO_MAPPING", "receive")
    unknown = (400, "UNKNOWN_MAPPING", "receive")
    assert said(await post(url, INVOICE, XML, mapping="../etc")) == unknown
    assert said(await post(url, INVOICE, JSON, mapping="none_v9")) == unknown


async def test_a_request_without_a_file_is_refused(url: str) -> None:
    assert said(await post(url, None)) == (400, "NO_FILE", "receive")
    assert said(await post(url, b"")) == (400, "EMPTY_FILE", "receive")
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        bare = await client.post(f"{url}/process", content=INVOICE)
        assert said(bare) == (400, "NO_FILE", "receive")
        two = [("file", ("a", INVOICE)), ("file", ("b", INVOICE))]
        answer = await client.post(f"{url}/process", files=two)
        assert said(answer) == (400, "TOO_MANY_FILES", "receive")
        kind = {"content-type": "multipart/form-data; boundary=x"}
        broken = await client.post(f"{url}/process", content=b"--x\r\nnonsense", headers=kind)
        assert said(broken) == (400, "BAD_REQUEST", "receive")


@pytest.mark.parametrize("more", [1, 3 << 20])
async def test_a_file_over_50_mib_is_too_large(url: str, more: int) -> None:
    big = b"%PDF-1.7" + bytes(MOST_BYTES - 8 + more)
    assert said(await post(url, big)) == (413, "TOO_LARGE", "receive")


async def test_json_has_a_smaller_limit(url: str) -> None:
    big = b"{" + b" " * MOST_JSON
    assert said(await post(url, big, XML, mapping=CORETAX)) == (413, "TOO_LARGE", "receive")


@pytest.mark.parametrize("file", [b"hello", b"[1]", b"PK\x03\x04", b"\x00"])
async def test_other_files_are_not_convertible(url: str, file: bytes) -> None:
    assert said(await post(url, file)) == (415, "NOT_CONVERTIBLE", "receive")


@pytest.mark.parametrize("file", [encrypted_pdf(), make_pdf([[]]), b"%PDF-1.7 and no more"])
async def test_a_pdf_that_cannot_be_read_is_its_senders_matter(url: str, file: bytes) -> None:
    assert said(await post(url, file)) == (422, "BAD_PDF", "read")


@pytest.mark.parametrize("file", [b"{", b'{"a": 1} x', b'{"a":' * 100_000])
async def test_json_that_cannot_be_read_is_its_senders_matter(url: str, file: bytes) -> None:
    assert said(await post(url, file, XML, mapping=CORETAX)) == (422, "BAD_FILE", "map")


async def test_an_invoice_that_its_mapping_refuses_is_told_so(url: str) -> None:
    dollars = {**run(INVOICE), "lines": [{"description": "x", "amount": "-5"}]}
    answer = await post(url, json.dumps(dollars).encode(), XML, mapping=CORETAX)
    assert said(answer) == (422, "GW_4XX", "map")


LETTER = make_pdf([[(72.0, 72.0, "Dear Ann,"), (72.0, 90.0, "Invoice number: 42")]])


async def test_what_names_no_amount_is_read_but_not_converted(url: str) -> None:
    assert (await post(url, LETTER)).json()["invoice_number"] == "42"
    assert said(await post(url, LETTER, mapping=CORETAX)) == (422, "NO_INVOICE", "read")
    assert said(await post(url, LETTER, XML, mapping=CORETAX)) == (422, "NO_INVOICE", "map")
    async with GatewayClient(url) as client:
        with pytest.raises(DocmillError, match="422 NO_INVOICE read") as raised:
            await client.convert(io.BytesIO(LETTER), CORETAX)
    assert raised.value.fault.code == "NO_INVOICE"


async def test_a_profile_goes_into_the_data_and_the_xml(url: str) -> None:
    source = Source(
        io.BytesIO(INVOICE), "a.pdf", PDF, mapping=CORETAX, options={"profile": PROFILE}
    )
    home = pipeline.run(source, Tools(lambda _percent, _stage: None))
    told = {"mapping": CORETAX, "profile": json.dumps(PROFILE), "pretty": "1"}
    data = await post(url, INVOICE, JSON, **told)
    assert data.json() == json.loads(json.dumps(home.data))
    assert home.artifact
    again = {name: told[name] for name in ("mapping", "pretty")}
    for file, fields in ((INVOICE, told), (data.content, told), (data.content, again)):
        assert (await post(url, file, XML, **fields)).content == home.artifact.content
    assert b"0123456789012345" in home.artifact.content


@pytest.mark.parametrize(
    ("profile", "at"),
    [
        ("{", "profile"),
        ("[1]", "profile"),
        ('{"npwp": ""}', "profile"),
        ('{"tin": "1"}', "profile.tin"),
    ],
)
async def test_a_profile_that_cannot_be_meant_is_refused(url: str, profile: str, at: str) -> None:
    answer = await post(url, INVOICE, mapping=CORETAX, profile=profile)
    assert said(answer) == (400, "BAD_REQUEST", "receive")
    assert answer.json()["mistakes"][0]["at"] == at


@pytest.mark.parametrize("code", ["CRASHED", "UNKNOWN", "IO_ERROR"])
async def test_a_failing_converter_is_a_bad_gateway(code: str) -> None:
    async def fail(_document: int, _mapping: str | None, _profile: object) -> Conversion:
        raise DocmillError(code, "the secret of ACME")

    async with served(fail) as url:
        answer = await post(url, INVOICE)
    assert said(answer) == (502, code, "read")
    assert "ACME" not in answer.text


async def test_a_converter_that_raises_is_a_bad_gateway() -> None:
    async def explode(_document: int, _mapping: str | None, _profile: object) -> Conversion:
        raise ValueError("the secret of ACME")

    async with served(explode) as url:
        answer = await post(url, INVOICE)
        assert said(answer) == (502, "UNKNOWN", "read")
        assert "ACME" not in answer.text


async def test_a_conversion_nobody_waits_for_is_ended() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hang(_document: int, _mapping: str | None, _profile: object) -> Conversion:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async with served(hang) as url, asyncio.timeout(PATIENCE):
        asking = asyncio.create_task(post(url, INVOICE))
        await began.wait()
        asking.cancel()
        await ended.wait()
