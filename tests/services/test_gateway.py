"""The gateway's client against servers that answer, fail, hang up and hang."""

import io
from datetime import timedelta

import pytest

from docmill.core.faults import DocmillError
from docmill.services.gateway import GatewayClient, GatewayFailover
from gateways import CORETAX, INVOICE, gateway
from invoice_pdfs import run
from speakers import answer, speaking
from waits import PATIENCE

pytestmark = pytest.mark.anyio

SOON = timedelta(seconds=0.5)


async def fault_of(url: str, limit: timedelta = timedelta(seconds=PATIENCE)) -> DocmillError:
    async with GatewayClient(url, limit) as client:
        with pytest.raises(DocmillError) as raised:
            await client.convert(io.BytesIO(b"%PDF-1.7"), None)
    assert url in raised.value.detail
    return raised.value


async def test_the_data_and_the_xml_of_an_invoice_come_back() -> None:
    async with gateway() as url, GatewayClient(url + "/") as client:
        made = await client.convert(io.BytesIO(INVOICE), CORETAX)
        bare = await client.convert(io.BytesIO(INVOICE), None)
    assert made.xml
    assert b"TaxInvoiceBulk" in made.xml
    assert b"pt_simon_invoice_v1" in made.data
    assert (bare.xml, bare.version) == (None, run(INVOICE)["version"])


@pytest.mark.parametrize("status", ["400 Bad Request", "413 Too Large", "422 Unprocessable"])
async def test_a_refusal_is_the_documents_fault_and_says_which(status: str) -> None:
    async with speaking(answer(status, b'{"code": "BAD_PDF"}', x_stage="read")) as speaker:
        fault = await fault_of(speaker.url)
    assert fault.fault.code == "GW_4XX"
    assert f"{status[:3]} BAD_PDF read" in fault.detail


@pytest.mark.parametrize("status", ["500 Oops", "502 Bad Gateway", "503 Busy", "302 Found"])
async def test_a_failing_gateway_is_tried_again(status: str) -> None:
    async with speaking(answer(status, b"<html>the secret of ACME</html>", "text/html")) as speaker:
        fault = await fault_of(speaker.url)
    assert (fault.fault.code, fault.fault.retried) == ("GW_5XX", True)
    assert "ACME" not in fault.detail


async def test_a_page_of_a_proxy_is_not_taken_for_an_answer() -> None:
    async with speaking(answer("200 OK", b"<html>", "text/html")) as speaker:
        assert (await fault_of(speaker.url)).fault.code == "GW_5XX"


@pytest.mark.parametrize("kept", [0, 20, -3])
async def test_a_cut_connection_is_a_failing_gateway(kept: int) -> None:
    whole = answer("200 OK", b'{"invoice_number": "1"}')
    async with speaking(whole[:kept]) as speaker:
        assert (await fault_of(speaker.url)).fault.code == "GW_5XX"


async def test_nobody_at_the_address_is_a_failing_gateway() -> None:
    async with speaking(b"") as speaker:
        pass
    assert (await fault_of(speaker.url)).fault.code == "GW_5XX"


@pytest.mark.parametrize("kept", [0, -3])
async def test_a_gateway_that_hangs_is_given_up_in_time(kept: int) -> None:
    whole = answer("200 OK", b'{"invoice_number": "1"}')
    async with speaking(whole[:kept], hangs=True) as speaker:
        fault = await fault_of(speaker.url, SOON)
    assert (fault.fault.code, fault.fault.retried) == ("GW_TIMEOUT", True)


async def test_when_one_gateway_fails_the_next_is_asked_and_the_first_left_alone() -> None:
    now = 0.0
    good = answer("200 OK", b'{"invoice_number": "1"}')
    async with (
        speaking(answer("503 Busy", retry_after="20")) as sick,
        speaking(good) as well,
        GatewayClient(sick.url) as first,
        GatewayClient(well.url) as second,
    ):
        both = GatewayFailover([first, second], clock=lambda: now)
        for _ in range(4):
            made = await both.convert(io.BytesIO(b"%PDF-1.7"), None)
            assert (made.url, made.data) == (well.url, b'{"invoice_number": "1"}')
        assert (len(sick.heard), len(well.heard)) == (1, 4)  # it asked for a pause of 20 s
        assert all(b"%PDF-1.7" in body for _, body in [*sick.heard, *well.heard])
        now = 21.0
        for _ in range(2):
            await both.convert(io.BytesIO(b"%PDF-1.7"), None)
        assert len(sick.heard) == 2
        async with GatewayClient("http://127.0.0.1:9") as gone:
            nobody = GatewayFailover([gone, first], clock=lambda: now + 100)
            with pytest.raises(DocmillError) as raised:
                await nobody.convert(io.BytesIO(b"%PDF-1.7"), None)
        assert raised.value.fault.code == "GW_5XX"


async def test_what_one_gateway_refuses_no_other_is_asked() -> None:
    async with (
        speaking(answer("422 Unprocessable", b'{"code": "BAD_PDF"}')) as one,
        speaking(answer("422 Unprocessable", b'{"code": "BAD_PDF"}')) as two,
        GatewayClient(one.url) as first,
        GatewayClient(two.url) as second,
    ):
        with pytest.raises(DocmillError) as raised:
            await GatewayFailover([first, second]).convert(io.BytesIO(b"%PDF-1.7"), None)
    assert raised.value.fault.code == "GW_4XX"
    assert len(one.heard) + len(two.heard) == 1
