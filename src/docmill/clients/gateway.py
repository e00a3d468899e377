"""The gateway as its callers see it: a PDF in, the data and the XML out, failures as faults."""

import asyncio
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, BinaryIO, Final, Self

import httpx2

from docmill.clients.endpoint import retry_after
from docmill.core.faults import FAULTS, Faulted

TIMEOUT: Final = timedelta(seconds=180)
CONNECT_SECONDS: Final = 10.0
JSON: Final = "application/json"
XML: Final = "application/xml"
PDF_PART: Final = "application/pdf"


@dataclass(frozen=True, slots=True)
class Answer:
    """`data` is the canonical JSON; `xml` is there when a mapping was asked for."""

    data: bytes
    version: str
    status: int
    xml: bytes | None = None


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
    ) -> Answer:
        """The data first, then of the data the XML: the PDF is read once. Raises Faulted."""
        fields = {"profile": json.dumps(profile)} if profile else {}
        if mapping is not None:
            fields["mapping"] = mapping
        with self._told():
            async with asyncio.timeout(self._timeout.total_seconds()):
                read = await self._post(("invoice.pdf", pdf, PDF_PART), fields, JSON)
                if mapping is None:
                    return Answer(read.content, _version(read), read.status_code)
                file = ("invoice.json", read.content, JSON)
                written = await self._post(file, {**fields, "pretty": "true"}, XML)
                return Answer(read.content, _version(read), written.status_code, written.content)

    async def _post(self, file: Any, fields: Mapping[str, str], wanted: str) -> httpx2.Response:
        answer = await self._http.post(
            f"{self.url}/process",
            files={"file": file},
            data=dict(fields),
            headers={"accept": wanted},
        )
        _check(answer, wanted)
        return answer

    @contextmanager
    def _told(self) -> Generator[None]:
        """What the network does, as a fault. The order matters: a time-out is a broken call too."""
        try:
            yield
        except (TimeoutError, httpx2.TimeoutException) as exc:
            seconds = self._timeout.total_seconds()
            raise Faulted("GW_TIMEOUT", f"{self.url}: no answer in {seconds:g} s") from exc
        except (httpx2.TransportError, httpx2.DecodingError) as exc:
            raise Faulted("GW_5XX", f"{self.url}: {type(exc).__name__}") from exc


def _version(answer: httpx2.Response) -> str:
    return answer.headers.get("x-pipeline-version", "")


def _check(answer: httpx2.Response, wanted: str) -> None:
    """Only 200 with what was asked for is an answer: a page of some proxy is not."""
    status = answer.status_code
    kind = answer.headers.get("content-type", "").partition(";")[0].strip()
    if status == HTTPStatus.OK and kind == wanted:
        return
    busy = status == HTTPStatus.TOO_MANY_REQUESTS
    refused = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and not busy
    stage = answer.headers.get("x-stage", "")
    detail = " ".join(filter(None, (str(answer.url), str(status), _code(answer), stage[:20])))
    facts: dict[str, object] = {"httpStatus": status}
    pause = retry_after(answer.headers.get("retry-after"), datetime.now(UTC))
    if pause is not None and not refused:
        facts["retryAfter"] = pause
    raise Faulted("GW_4XX" if refused else "GW_5XX", detail, **facts)


def _code(answer: httpx2.Response) -> str:
    """The gateway's own word for it, if it is one of ours."""
    try:
        code = json.loads(answer.content)["code"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return code if isinstance(code, str) and code in FAULTS else ""
