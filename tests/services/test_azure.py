"""Azure Document Intelligence, by its own SDK, against a double that reads what it is sent."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from azure.ai.documentintelligence.aio import DocumentIntelligenceClient
from azure.core.credentials import AzureKeyCredential

from azure_double import KEY, AzureDouble, refused
from docmill.core.faults import DocmillError
from docmill.services import azure, endpoint
from docmill.services.azure import AzureAccount, AzureReader
from doubles import HANG, doubling, told
from pdfs import make_pdf
from speakers import answer

pytestmark = pytest.mark.anyio

BILL = make_pdf([[(72, 72, "Invoice No: INV-17"), (72, 100, "Total: EUR 12.50")]])
PAGES = {"pages": "1-20"}


class Paper:
    """A note in memory."""

    def __init__(self, kept: Any = None) -> None:
        self.kept: Any = kept

    async def read(self) -> Any:
        return self.kept

    async def write(self, words: Any) -> None:
        self.kept = words


async def bill() -> bytes:
    return BILL


@asynccontextmanager
async def reading(
    double: AzureDouble, model: str = "prebuilt-layout", key: str = KEY
) -> AsyncGenerator[AzureReader]:
    async with doubling(double), AsyncExitStack() as stack:
        yield await azure.open_reader(AzureAccount(double.url, key, model), stack)


async def fault_of(
    double: AzureDouble, paper: Paper | None = None, model: str = "prebuilt-layout", key: str = KEY
) -> DocmillError:
    async with reading(double, model, key) as reader:
        with pytest.raises(DocmillError) as raised:
            await reader.analyze(PAGES, bill, paper or Paper())
    return raised.value


async def test_the_double_speaks_as_the_sdk_understands_it() -> None:
    async with (
        doubling(AzureDouble()) as double,
        DocumentIntelligenceClient(double.url, AzureKeyCredential(KEY)) as sdk,
    ):
        poller = await sdk.begin_analyze_document(
            "prebuilt-layout", BytesIO(BILL), pages="1-1", features=["keyValuePairs"],
            string_index_type="unicodeCodePoint",
        )  # fmt: skip
        result = await poller.result()
    (page,) = result.pages
    assert (
        " ".join(one.content for one in page.words or ()) == "Invoice No: INV-17 Total: EUR 12.50"
    )
    word = (page.words or [])[2]
    assert result.content[word.span.offset :][: word.span.length] == "INV-17"
    values = [pair.value and pair.value.content for pair in result.key_value_pairs or ()]
    assert values == ["INV-17", "EUR 12.50"]


async def test_pages_come_back_without_what_nobody_uses() -> None:
    paper = Paper()
    async with reading(AzureDouble()) as reader:
        found = await reader.analyze(PAGES, bill, paper)
    assert set(found) == {"model", "pages", "paragraphs"}
    assert set(found["pages"][0]) == {"page_number", "width", "height", "words"}
    assert set(found["pages"][0]["words"][0]) == {"content", "polygon", "confidence", "span"}
    assert paper.kept


async def test_the_general_document_model_is_asked_for_as_azure_names_it_now() -> None:
    double = AzureDouble()
    async with reading(double, "prebuilt-document") as reader:
        found = await reader.analyze(PAGES, bill, Paper())
    assert double.asked[0].path.endswith("/prebuilt-layout:analyze")
    assert double.asked[0].query["features"] == "keyValuePairs"
    assert found["model"] == "prebuilt-document"
    values = [pair["value"]["content"] for pair in found["key_value_pairs"]]
    assert values == ["INV-17", "EUR 12.50"]


@pytest.mark.parametrize(
    ("method", "says", "code", "pause"),
    [
        ("POST", refused("429 Slow", "429"), "SERVICE_BUSY", None),
        ("POST", answer("429 Slow", b"", retry_after="7"), "SERVICE_BUSY", 7.0),
        ("GET", told("429 Slow", {"error": {"code": "429"}}, retry_after="7"), "SERVICE_BUSY", 7.0),
        ("POST", answer("503 Busy", b"<html>ACME</html>"), "SERVICE_BUSY", None),
        ("POST", answer("500 Oops", b"<html>ACME</html>"), "SERVICE_FAILED", None),
        ("GET", answer("500 Oops"), "SERVICE_FAILED", None),
        ("POST", answer("200 OK", b"<html>ACME</html>"), "SERVICE_FAILED", None),
        ("POST", answer("202 Accepted"), "SERVICE_FAILED", None),
        ("POST", answer("202 Accepted", operation_location="nowhere"), "SERVICE_FAILED", None),
        ("POST", answer("302 Found", location="http://127.0.0.1:1"), "SERVICE_FAILED", None),
        ("GET", answer("200 OK", b'{"status": "succe'), "SERVICE_FAILED", None),
        ("GET", answer("200 OK", b"<html>", kind="text/html"), "SERVICE_FAILED", None),
        ("GET", told("200 OK", {"status": "succeeded"}), "SERVICE_FAILED", None),
        ("GET", told("200 OK", {"status": "succeeded", "analyzeResult": {"pages": 1}}),
         "SERVICE_FAILED", None),
        ("GET", answer("200 OK", b'{"status": "succeeded"}')[:-5], "SERVICE_FAILED", None),
        ("POST", b"", "SERVICE_FAILED", None),
        ("GET", b"", "SERVICE_FAILED", None),
        ("POST", refused("400 No", "InvalidRequest", "InvalidContentLength"),
         "SERVICE_REFUSED", None),
    ],
)  # fmt: skip
async def test_a_failing_service_is_a_fault_with_the_pause_it_asks_for(
    method: str, says: bytes, code: str, pause: float | None
) -> None:
    double = AzureDouble()
    double.next(method, says, says)  # a GET that is cut off is made once more underneath the SDK
    fault = await fault_of(double)
    assert (fault.fault.code, fault.facts.get("retryAfter")) == (code, pause), fault.detail
    assert "ACME" not in fault.detail
    assert double.count("POST") == 1


async def test_a_wrong_key_is_refused_and_says_so() -> None:
    fault = await fault_of(AzureDouble(), key="another")
    assert fault.fault.code == "SERVICE_REFUSED"
    assert "401" in fault.detail


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_service_that_hangs_is_given_up(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure, "TIMEOUT", timedelta(seconds=0.5))
    double, paper = AzureDouble(), Paper()
    double.next(method, HANG)
    assert (await fault_of(double, paper)).fault.code == "SERVICE_TIMEOUT"
    assert bool(paper.kept) == (method == "GET")


async def test_an_analysis_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MOST_BYTES", 1000)
    fault = await fault_of(AzureDouble())
    assert fault.fault.code == "SERVICE_REFUSED"


async def test_an_analysis_that_was_begun_is_waited_for_and_not_begun_again() -> None:
    double, paper = AzureDouble(), Paper()
    double.next("GET", answer("429 Slow", retry_after="1"))
    async with reading(double) as reader:
        with pytest.raises(DocmillError):
            await reader.analyze(PAGES, bill, paper)
        found = await reader.analyze(PAGES, bill, paper)
    assert found["pages"]
    assert double.paid == ["1-20"]


async def test_an_analysis_that_the_service_forgot_is_begun_again() -> None:
    double, paper = AzureDouble(), Paper("0815")
    async with reading(double) as reader:
        assert (await reader.analyze(PAGES, bill, paper))["pages"]
    assert double.paid == ["1-20"]
    assert paper.kept in double.operations


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "InternalServerError", "message": "of ACME"}, "SERVICE_FAILED"),
        ({"code": "InvalidRequest", "innererror": {"code": "InvalidContent"}}, "SERVICE_REFUSED"),
    ],
)
async def test_an_analysis_that_failed_is_not_waited_for_again(
    error: dict[str, Any], code: str
) -> None:
    double, paper = AzureDouble(), Paper()
    double.failure = error
    fault = await fault_of(double, paper)
    assert fault.fault.code == code
    assert "ACME" not in fault.detail
    assert paper.kept is None


async def test_what_is_no_range_of_pages_is_not_sent() -> None:
    double = AzureDouble()
    async with reading(double) as reader:
        with pytest.raises(DocmillError):
            await reader.analyze({"pages": "1-2&features=x"}, bill, Paper())
    assert double.asked == []
