"""What is used of an analysis by Azure Document Intelligence: the rest is not kept or passed on."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from io import BytesIO
from typing import Annotated, Any, Final, Protocol

from azure.ai.documentintelligence.aio import DocumentIntelligenceClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ServiceRequestTimeoutError,
    ServiceResponseTimeoutError,
)
from azure.core.rest import AsyncHttpResponse, HttpRequest
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic.alias_generators import to_camel

from docmill.core.faults import DocmillError
from docmill.services.endpoint import (
    CONNECT_SECONDS,
    explain_refusal,
    find_error_word,
    parse_retry_after,
    read_body,
)

Polygon = Annotated[list[FiniteFloat], Field(min_length=8)]


class AzureModel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class AzureSpan(AzureModel):
    """A piece of the whole text, counted in characters."""

    offset: int
    length: int


class AzureRegion(AzureModel):
    page_number: int
    polygon: Polygon


class AzureWord(AzureModel):
    content: str
    polygon: Polygon
    confidence: FiniteFloat = 1.0
    span: AzureSpan


class AzurePage(AzureModel):
    page_number: int
    width: Annotated[FiniteFloat, Field(gt=0)]
    height: Annotated[FiniteFloat, Field(gt=0)]
    words: list[AzureWord] = []


class AzureText(AzureModel):
    """Text and where it stands."""

    content: str = ""
    bounding_regions: list[AzureRegion] = []
    spans: list[AzureSpan] = []


class AzureParagraph(AzureText):
    role: str = ""


class AzureCell(AzureText):
    row_index: Annotated[int, Field(ge=0)]
    column_index: Annotated[int, Field(ge=0)]
    row_span: Annotated[int, Field(ge=1)] = 1
    column_span: Annotated[int, Field(ge=1)] = 1


class AzureTable(AzureModel):
    cells: list[AzureCell]
    bounding_regions: list[AzureRegion] = []
    spans: list[AzureSpan] = []


class AzurePair(AzureModel):
    key: AzureText
    value: AzureText | None = None
    confidence: FiniteFloat = 1.0


class AzureLayout(AzureModel):
    pages: list[AzurePage]
    paragraphs: list[AzureParagraph] = []
    tables: list[AzureTable] = []
    key_value_pairs: list[AzurePair] = []


class AzureOperation(AzureModel):
    """An analysis under way, or what came of it."""

    status: str
    analyze_result: AzureLayout | None = None
    error: Any = None


API: Final = "2024-11-30"
TIMEOUT: Final = timedelta(minutes=5)
# The service wishes not to be asked more often, unless it says otherwise itself.
POLL: Final = 2.0
SHORTEST_POLL: Final = 0.1
# The general document model lives on as this feature of the layout model.
FEATURES: Final[Mapping[str, Sequence[str]]] = {
    "prebuilt-layout": [],
    "prebuilt-document": ["keyValuePairs"],
}
LAYOUT: Final = "prebuilt-layout"
PDF: Final = "application/octet-stream"
# Without these the SDK takes every refusal for JSON, and falls over one that is not.
ERRORS: Final = dict.fromkeys(range(100, 600), HttpResponseError)
# Of those that Azure gives for an analysis that failed, these are not the document's fault.
PASSING: Final = frozenset({"InternalServerError", "ServiceUnavailable", "Timeout"})

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")


class ResumeStore(Protocol):
    """Where the name of an operation under way is kept for the next attempt."""

    @property
    def read(self) -> Callable[[], Awaitable[Any]]: ...
    @property
    def write(self) -> Callable[[Any], Awaitable[object]]: ...


class AnalyzeRequest(BaseModel, frozen=True, extra="forbid"):
    """What `analyze` is asked: pages as `1-20`."""

    pages: str = Field(pattern=r"^\d{1,5}-\d{1,5}$")


@dataclass(frozen=True, slots=True)
class AzureAccount:
    """Where the service is and who asks; `model` is one of FEATURES."""

    endpoint: str
    key: str
    model: str = LAYOUT


class AzureReader:
    """Any number of calls at a time. The SDK repeats none of them: that is for the queue."""

    def __init__(self, account: AzureAccount, sdk: DocumentIntelligenceClient) -> None:
        self._account: AzureAccount = account
        self._sdk: DocumentIntelligenceClient = sdk

    async def analyze(
        self, request: Any, document: Callable[[], Awaitable[bytes]], note: ResumeStore
    ) -> dict[str, Any]:
        """The layout of some pages. An analysis that was begun before is waited for, not begun."""
        try:
            asked = AnalyzeRequest.model_validate(request)
        except ValidationError as exc:
            raise DocmillError("SERVICE_REFUSED", "a wrong question: pages") from exc
        with self._translate_errors():
            async with asyncio.timeout(TIMEOUT.total_seconds()):
                done = await self._outcome(asked, document, note)
        if done.status != "succeeded" or done.analyze_result is None:
            await note.write(None)
            raise self._failure(done)
        layout = await asyncio.to_thread(done.analyze_result.model_dump, exclude_defaults=True)
        return {**layout, "model": self._account.model}

    async def _outcome(
        self, asked: AnalyzeRequest, document: Callable[[], Awaitable[bytes]], note: ResumeStore
    ) -> AzureOperation:
        name = await note.read()
        known = await self._wait_for_end(_check_name(name)) if name else None
        if known is not None:
            return known
        name = await self._begin(asked, await document())
        await note.write(name)
        begun = await self._wait_for_end(name)
        if begun is None:
            raise DocmillError("SERVICE_FAILED", f"{self._account.endpoint}: forgot an analysis")
        return begun

    async def _begin(self, asked: AnalyzeRequest, pdf: bytes) -> str:
        """The name of the operation; from here on it is paid for."""
        features = FEATURES[self._account.model]
        poller = await self._sdk.begin_analyze_document(
            LAYOUT, BytesIO(pdf), content_type=PDF, pages=asked.pages, features=[*features] or None,
            string_index_type="unicodeCodePoint", polling=False, error_map=ERRORS,
        )  # fmt: skip
        try:
            return _check_name(poller.details["operation_id"])
        except (KeyError, AttributeError, ValueError) as exc:  # of a header that can't be read
            said = f"{self._account.endpoint}: named no operation"
            raise DocmillError("SERVICE_FAILED", said) from exc

    async def _wait_for_end(self, name: str) -> AzureOperation | None:
        """What came of an operation; None for one that the service does not know any more."""
        while True:
            answer, body = await self._poll(name)
            if answer.status_code == HTTPStatus.NOT_FOUND:
                return None
            if answer.status_code != HTTPStatus.OK:
                raise self._refusal(answer, body)
            operation = await self._operation(body)
            if operation.status not in {"notStarted", "running"}:
                return operation
            pause = parse_retry_after(answer.headers.get("retry-after"), datetime.now(UTC))
            await asyncio.sleep(POLL if pause is None else max(pause, SHORTEST_POLL))

    async def _poll(self, name: str) -> tuple[AsyncHttpResponse, bytes]:
        """As a stream: the SDK would read the JSON at once, in the loop and however long."""
        where = f"/documentModels/{LAYOUT}/analyzeResults/{name}"
        request = HttpRequest("GET", where, params={"api-version": API})
        async with await self._sdk.send_request(request, stream=True) as answer:
            return answer, await read_body(answer.iter_bytes(), self._account.endpoint)

    async def _operation(self, body: bytes) -> AzureOperation:
        try:
            return await asyncio.to_thread(AzureOperation.model_validate_json, body)
        except ValidationError as exc:
            said = f"{self._account.endpoint}: an analysis that can't be read"
            raise DocmillError("SERVICE_FAILED", said) from exc

    def _failure(self, done: AzureOperation) -> DocmillError:
        word = find_error_word(done.error)
        refused = done.status == "failed" and word and word not in PASSING
        code = "SERVICE_REFUSED" if refused else "SERVICE_FAILED"
        return DocmillError(
            code, f"{self._account.endpoint}: the analysis {done.status} {word}".strip()
        )

    def _refusal(self, answer: Any, body: bytes) -> DocmillError:
        pause = answer.headers.get("retry-after")
        return explain_refusal(self._account.endpoint, answer.status_code, pause, body)

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """What the SDK raises, as a fault."""
        where = self._account.endpoint
        try:
            yield
        except (TimeoutError, ServiceRequestTimeoutError, ServiceResponseTimeoutError) as exc:
            seconds = TIMEOUT.total_seconds()
            raise DocmillError("SERVICE_TIMEOUT", f"{where}: no answer in {seconds:g} s") from exc
        except HttpResponseError as exc:
            if exc.response is None:
                raise DocmillError("SERVICE_FAILED", f"{where}: {type(exc).__name__}") from exc
            raise self._refusal(exc.response, _read_error_body(exc.response)) from exc
        except AzureError as exc:
            raise DocmillError("SERVICE_FAILED", f"{where}: {type(exc).__name__}") from exc


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ValueError("not the name of an operation")
    return name


def _read_error_body(answer: Any) -> bytes:
    try:
        return answer.content
    except AzureError:  # it was not read to its end
        return b""


async def open_reader(account: AzureAccount, stack: AsyncExitStack) -> AzureReader:
    """A reader that lives as long as the stack."""
    sdk = DocumentIntelligenceClient(
        account.endpoint, AzureKeyCredential(account.key), api_version=API,
        retry_total=0, permit_redirects=False, connection_timeout=CONNECT_SECONDS,
    )  # fmt: skip
    return AzureReader(account, await stack.enter_async_context(sdk))
