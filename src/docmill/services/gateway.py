"""The gateway as its callers see it: a PDF in, the data and the XML out, failures as faults."""

import asyncio
import json
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, BinaryIO, Final, Protocol, Self

import httpx2

from docmill import tracing
from docmill.core.faults import FAULTS, DocmillError
from docmill.core.jobs import About, Claimed, ReportProgress, Usage
from docmill.core.plugins import Artifact
from docmill.core.summaries import Summary, clean_sentence, clean_summary
from docmill.sandbox.outcome import REASON_CHARACTERS, RunFailed, RunOutcome, RunReturned
from docmill.services.breaker import RESTING, Clock, ServiceGuard, read_pause
from docmill.services.endpoint import parse_retry_after

TIMEOUT: Final = timedelta(seconds=180)
CONNECT_SECONDS: Final = 10.0
JSON: Final = "application/json"
XML: Final = "application/xml"
# The one refusal that says more to the sender than that this mapping does not do.
NO_INVOICE: Final = "NO_INVOICE"
REFUSED: Final = "GW_4XX"
PDF_PART: Final = "application/pdf"


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """`data` is the canonical JSON; `xml` is there when a mapping was asked for.

    `refusal` is why the mapping wrote none.
    """

    data: bytes
    version: str
    status: int
    xml: bytes | None = None
    summary: Summary | None = None
    refusal: str = ""
    url: str = ""  # of the gateway that answered


class InvoiceConverter(Protocol):
    """One gateway, or several as one."""

    @property
    def url(self) -> str: ...
    async def convert(
        self, pdf: BinaryIO, mapping: str | None, profile: Mapping[str, Any] | None = None
    ) -> GatewayAnswer: ...


class GatewayClient:
    """Stands for one gateway. Use as a context manager; any number of calls at a time."""

    def __init__(self, url: str, timeout: timedelta = TIMEOUT) -> None:
        self.url: str = url.rstrip("/")
        self._timeout: timedelta = timeout
        # The whole of a conversion is timed below. A proxy of the office knows nothing of gateways.
        limits = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        self._http: httpx2.AsyncClient = httpx2.AsyncClient(timeout=limits, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def convert(
        self, pdf: BinaryIO, mapping: str | None, profile: Mapping[str, Any] | None = None
    ) -> GatewayAnswer:
        """The data first, then of the data the XML: the PDF is read once. Raises DocmillError."""
        fields = {"profile": json.dumps(profile)} if profile else {}
        if mapping is not None:
            fields["mapping"] = mapping
        with self._translate_errors():
            async with asyncio.timeout(self._timeout.total_seconds()):
                read = await self._read(pdf, fields)
                if isinstance(read, GatewayAnswer):
                    return read
                if mapping is None:
                    return GatewayAnswer(
                        read.content, _read_version(read), read.status_code,
                        summary=_read_summary(read),
                    )  # fmt: skip
                file = ("invoice.json", read.content, JSON)
                written = await self._post(file, {**fields, "pretty": "true"}, XML)
                return GatewayAnswer(
                    read.content, _read_version(read), written.status_code, written.content,
                    _read_summary(read),
                )  # fmt: skip

    async def _read(
        self, pdf: BinaryIO, fields: Mapping[str, str]
    ) -> httpx2.Response | GatewayAnswer:
        """The data; where the mapping refuses it, the data without the mapping, and why."""
        try:
            return await self._post(("invoice.pdf", pdf, PDF_PART), fields, JSON)
        except DocmillError as exc:
            if exc.fault.code != REFUSED or not exc.reason or "mapping" not in fields:
                raise
            pdf.seek(0)
            plain = {name: value for name, value in fields.items() if name != "mapping"}
            read = await self._post(("invoice.pdf", pdf, PDF_PART), plain, JSON)
            return GatewayAnswer(
                read.content, _read_version(read), read.status_code,
                summary=_read_summary(read), refusal=exc.reason,
            )  # fmt: skip

    async def _post(self, file: Any, fields: Mapping[str, str], wanted: str) -> httpx2.Response:
        with tracing.span("service", "client", service="gateway") as span:
            answer = await self._http.post(
                f"{self.url}/process",
                files={"file": file},
                data=dict(fields),
                headers={"accept": wanted, **tracing.write_headers()},
            )
            span.say(status=answer.status_code)
        _check_answer(answer, wanted)
        return answer

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """What the network does, as a fault. The order matters: a time-out is a broken call too."""
        try:
            yield
        except (TimeoutError, httpx2.TimeoutException) as exc:
            seconds = self._timeout.total_seconds()
            raise DocmillError("GW_TIMEOUT", f"{self.url}: no answer in {seconds:g} s") from exc
        except (httpx2.TransportError, httpx2.DecodingError) as exc:
            raise DocmillError("GW_5XX", f"{self.url}: {type(exc).__name__}") from exc


class GatewayFailover:
    """Several gateways as one. Each has a breaker of its own; who fails is followed by the next."""

    def __init__(self, clients: Sequence[GatewayClient], clock: Clock = time.monotonic) -> None:
        self.url: str = ",".join(client.url for client in clients)
        self._guarded: list[tuple[GatewayClient, ServiceGuard]] = [
            (client, ServiceGuard(client.url, patience=timedelta.max, clock=clock))
            for client in clients
        ]

    async def convert(
        self, pdf: BinaryIO, mapping: str | None, profile: Mapping[str, Any] | None = None
    ) -> GatewayAnswer:
        """By the first that does it. Those that are left alone count as failing, and come last."""
        self._guarded.append(self._guarded.pop(0))  # the next document begins with another
        faults: list[DocmillError] = []
        for client, guard in sorted(self._guarded, key=lambda each: not each[1].admits):
            pdf.seek(0)
            try:
                answer = await guard.through(partial(client.convert, pdf, mapping, profile))
            except DocmillError as exc:
                if not exc.fault.retried:
                    raise
                faults.append(exc)
            else:
                return replace(answer, url=client.url)
        raise faults[0]


async def open_gateways_at(urls: Sequence[str], stack: AsyncExitStack) -> InvoiceConverter:
    """For as long as the stack lives."""
    clients = [await stack.enter_async_context(GatewayClient(url.strip())) for url in urls]
    return clients[0] if len(clients) == 1 else GatewayFailover(clients)


def _read_version(answer: httpx2.Response) -> str:
    return answer.headers.get("x-pipeline-version", "")


def _read_summary(answer: httpx2.Response) -> Summary | None:
    try:
        return clean_summary(json.loads(answer.headers.get("x-summary", "null")))
    except (ValueError, RecursionError):
        return None


def _check_answer(answer: httpx2.Response, wanted: str) -> None:
    """Only 200 with what was asked for is an answer: a page of some proxy is not."""
    status = answer.status_code
    kind = answer.headers.get("content-type", "").partition(";")[0].strip()
    if status == HTTPStatus.OK and kind == wanted:
        return
    busy = status == HTTPStatus.TOO_MANY_REQUESTS
    refused = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and not busy
    stage = answer.headers.get("x-stage", "")
    detail = " ".join(filter(None, (str(answer.url), str(status), _read_code(answer), stage[:20])))
    facts: dict[str, object] = {"httpStatus": status}
    pause = parse_retry_after(answer.headers.get("retry-after"), datetime.now(UTC))
    if pause is not None and not refused:
        facts["retryAfter"] = pause
    if reason := _read_reason(answer):
        facts["reason"] = reason
    code = _read_code(answer)
    if refused and code == NO_INVOICE:
        raise DocmillError(code, detail, **facts)
    raise DocmillError("GW_4XX" if refused else "GW_5XX", detail, **facts)


def _read_reason(answer: httpx2.Response) -> str:
    try:
        reason = json.loads(answer.content)["reason"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return clean_sentence(reason, REASON_CHARACTERS) if isinstance(reason, str) else ""


def _read_code(answer: httpx2.Response) -> str:
    """The gateway's own word for it, if it is one of ours."""
    try:
        code = json.loads(answer.content)["code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return code if isinstance(code, str) and code in FAULTS else ""


XML_TYPE: Final = "application/xml"


class GatewayRunner:
    """Runs jobs at a gateway."""

    def __init__(
        self, client: InvoiceConverter, guard: ServiceGuard, clock: Clock = time.monotonic
    ) -> None:
        self.guard: ServiceGuard = guard
        self.url: str = client.url
        self._client: InvoiceConverter = client
        self._clock: Clock = clock

    async def __call__(self, job: Claimed, file: BinaryIO, note: ReportProgress) -> RunOutcome:
        began_at = self._clock()
        if self.guard.admits:
            note(5, "sent to the gateway")
        try:
            profile = job.options.get("profile")
            convert = partial(self._client.convert, file, job.mapping, profile)
            answer = await self.guard.through(convert)
        except DocmillError as exc:
            usage = self._usage(began_at, exc.facts.get("httpStatus"), self.url)
            delay = None if exc.fault.code == RESTING else read_pause(exc)
            return RunFailed(exc.fault.code, exc.detail, "", usage, delay, reason=exc.reason)
        usage = self._usage(began_at, answer.status, answer.url or self.url)
        about = About(answer.summary, refusal=answer.refusal or None)
        return RunReturned(answer.data, answer.version, usage, _make_artifact(answer), about=about)

    def _usage(self, began_at: float, status: object, url: str) -> Usage:
        call = {"gateway": url, "http_status": status}
        return Usage(round((self._clock() - began_at) * 1000), call=call)


def find_resting(services: Mapping[str, GatewayRunner]) -> frozenset[str]:
    """The pipelines whose service is left alone for now: their jobs wait."""
    return frozenset(name for name, service in services.items() if not service.guard.admits)


def _make_artifact(answer: GatewayAnswer) -> Artifact | None:
    return None if answer.xml is None else Artifact(answer.xml, XML_TYPE)
