"""A file that its sender names by an address: fetched by us, from where anybody may fetch it."""

import asyncio
from datetime import timedelta
from email.message import Message
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

import httpx2

from docmill.core.cleanup import on_failure
from docmill.core.faults import DocmillError
from docmill.documents.staging import FileStage, StagedFile
from docmill.services.outbound import OutboundClient, read_rules
from docmill.storage.contract import Store
from docmill.web.config import WebConfig

ALLOW_SETTING: Final = "DOCMILL_FETCH_ALLOW"
MOST_REDIRECTS: Final = 5
# Between two pieces, and for the whole file: its sender waits for our answer.
STALL: Final = timedelta(seconds=15)
LONGEST: Final = timedelta(seconds=120)
HEADERS: Final = {"accept": "*/*", "user-agent": "docmill"}


async def fetch_file(url: str, store: Store, config: WebConfig) -> StagedFile:
    """Raises URL_REFUSED, URL_FAILED or TOO_LARGE; then nothing of it is left."""
    rules = read_rules(ALLOW_SETTING, config.fetch_allow)
    try:
        async with (
            asyncio.timeout(LONGEST.total_seconds()),
            OutboundClient(rules, timeout=STALL) as client,
        ):
            return await _follow(client, url, store, config.max_upload_bytes)
    except TimeoutError as exc:
        raise _fail(f"It took longer than {LONGEST.total_seconds():.0f} seconds.") from exc
    except httpx2.TimeoutException as exc:
        raise _fail("Its server does not answer.") from exc
    except (httpx2.TransportError, httpx2.InvalidURL) as exc:
        raise _fail(f"The connection failed ({type(exc).__name__}).") from exc


async def _follow(client: OutboundClient, url: str, store: Store, limit: int) -> StagedFile:
    """Each address on the way is checked as the first one was."""
    for _ in range(MOST_REDIRECTS + 1):
        async with client.stream("GET", url, headers=HEADERS) as answer:
            if not answer.has_redirect_location:
                return await _stage(answer, url, store, limit)
            url = str(httpx2.URL(url).join(answer.headers["location"]))
    raise _fail(f"It was sent on more than {MOST_REDIRECTS} times.")


async def _stage(answer: httpx2.Response, url: str, store: Store, limit: int) -> StagedFile:
    if answer.status_code != HTTPStatus.OK:
        raise _fail(f"Its server answered {answer.status_code}.")
    declared = answer.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limit:
        raise DocmillError("TOO_LARGE", "by its Content-Length", maxSize=limit)
    stage = FileStage(store, find_filename(answer.headers, url), max_bytes=limit)
    async with on_failure(stage.abort):
        async for chunk in answer.aiter_raw():
            await stage.write(chunk)
        return await stage.finish()


def find_filename(headers: httpx2.Headers, url: str) -> str:
    """As the server calls it, or the last part of the address."""
    header = Message()
    header["content-disposition"] = headers.get("content-disposition", "").replace("\n", " ")
    named = header.get_filename()
    return named or PurePosixPath(unquote(httpx2.URL(url).path)).name or "document"


def _fail(reason: str) -> DocmillError:
    return DocmillError("URL_FAILED", reason, reason=reason)
