"""The client: the API in Python's words, with patience where docmill asks for it."""

import asyncio
import hashlib
import io
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypedDict, TypeVar, Unpack
from uuid import uuid4

import httpx2

from docmill.client.answers import (
    Advice,
    JobFailed,
    Refused,
    RemoteJob,
    check_answer,
    read_json,
    translate_errors,
)
from docmill.core.jobs import ENDED, Status

HERE: Final = "http://127.0.0.1:8000"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# Uploads are answered when they are on disk; a waiting request is answered after WAIT.
WAIT: Final = 20
TIMEOUT: Final = httpx2.Timeout(connect=10, read=90, write=90, pool=None)
LARGEST_PAGE: Final = 200
PIECE: Final = 1 << 20
PROBLEM: Final = "application/problem+json"
TRIES: Final = 10
PATIENCE: Final = 60.0
PAUSES_AFTER_BREAK: Final[Mapping[int, float]] = {1: 1.0, 2: 2.0, 3: 4.0}

Document = str | Path | bytes | BinaryIO
Answer = TypeVar("Answer")


class Wishes(TypedDict, total=False):
    """What `submit` may be asked for.

    - `fields`: those to find by name, where the pipeline does that (`extract`).
    - `filename`: what the document is called, where its path does not say.
    - `run_at`: not before this time; a text is ISO, as the API takes it.
    - `after`: ids of jobs that must have completed before.
    - `direct`: the bytes go straight into the store, not through docmill.
    """

    pipeline: str | None
    mapping: str | None
    fields: str | None
    filename: str | None
    run_at: datetime | str | None
    after: Sequence[str]
    direct: bool


class AsyncClient:
    """One conversation with one docmill, as one owner: a token's, or that of a session of its own.

    What docmill refuses raises Refused. Requests that docmill wants repeated later, and uploads
    whose connection broke, are repeated: `tries` times at most.
    """

    def __init__(
        self,
        url: str = HERE,
        token: str | None = None,
        *,
        tries: int = TRIES,
        words: Advice | None = None,
    ) -> None:
        self.base: str = url.rstrip("/")
        self._tries: int = tries
        self._words: Advice = words or Advice()
        with translate_errors(self.base, self._words):
            host = httpx2.URL(self.base).host
            if not host:
                raise httpx2.InvalidURL("no host")
            self._http: httpx2.AsyncClient = httpx2.AsyncClient(
                base_url=self.base,
                timeout=TIMEOUT,
                headers={"authorization": f"Bearer {token}"} if token else {},
                # A proxy of the office knows nothing of this machine.
                trust_env=host not in LOOPBACK,
            )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def submit(self, document: Document, **wishes: Unpack[Wishes]) -> RemoteJob:
        """Upload a path, bytes or an open file. The same content again is the same job.

        An address (https://...) is fetched by docmill itself.
        """
        form = _make_form(wishes)
        key = {"idempotency-key": str(uuid4())}
        if is_address(document):
            form["url"] = str(document)
            return await self._send_form(form, key)
        name = wishes.get("filename") or _filename(document)
        with _open_document(document) as file:
            if wishes.get("direct"):
                answer = await self.upload_directly(file, name, form)
                return RemoteJob.of(answer["job"], answer["outcome"])

            async def upload() -> dict[str, Any]:
                file.seek(0)
                files = {"file": (name, file)}
                return await self.ask("POST", "/api/upload", data=form, files=files, headers=key)

            answer = await self.patiently(upload)
        return RemoteJob.of(answer["job"], answer["outcome"])

    async def _send_form(self, form: Mapping[str, str], key: Mapping[str, str]) -> RemoteJob:
        answer = await self.patiently(
            lambda: self.ask("POST", "/api/upload", data=dict(form), headers=dict(key))
        )
        return RemoteJob.of(answer["job"], answer["outcome"])

    async def upload_directly(
        self, file: BinaryIO, name: str, form: Mapping[str, str]
    ) -> dict[str, Any]:
        """Announce the file, put its bytes where docmill says, and have the job made of them."""
        size, sha256 = await asyncio.to_thread(_measure, file)
        after = {"after": form["after"].split(",")} if "after" in form else {}
        wish = {**form, **after, "filename": name, "bytes": size, "sha256": sha256}
        told = await self.patiently(lambda: self.ask("POST", "/api/uploads", json=wish))
        await self.patiently(lambda: self._put(told, file))
        path = f"/api/uploads/{told['upload_id']}/complete"
        return await self.patiently(lambda: self.ask("POST", path))

    async def _put(self, told: Mapping[str, Any], file: BinaryIO) -> None:
        """To a store, which is no docmill: it gets neither our token nor our cookie."""
        file.seek(0)
        length = {"content-length": str(_measure_size(file))}
        with translate_errors(self.base, self._words):
            async with httpx2.AsyncClient(timeout=TIMEOUT) as store:
                answer = await store.request(
                    told["method"],
                    told["url"],
                    headers={**told["headers"], **length},
                    content=_read_pieces(file),
                )
            if answer.is_error and not answer.headers.get("content-type", "").startswith(PROBLEM):
                says = f"The store answered {answer.status_code}."
                raise Refused(says, "Try again; if it goes on, upload without direct.")
            check_answer(answer, self._words)

    async def link(
        self, job_id: str, form: str | None = None, *, expires_in: int | None = None
    ) -> dict[str, Any]:
        """A link to a complete job's result that needs no sign-in: its `url` and `expires_at`."""
        wanted = {"format": form, "expires_in": expires_in}
        wish = {name: value for name, value in wanted.items() if value}
        return await self.ask("POST", f"/api/jobs/{job_id}/links", json=wish)

    async def boost(self, job_id: str) -> int:
        """Move a queued job ahead; its priority now."""
        return (await self.ask("POST", f"/api/jobs/{job_id}/boost"))["job"]["priority"]

    async def job(self, job_id: str) -> RemoteJob:
        return RemoteJob.of(await self.patiently(lambda: self.ask("GET", f"/api/jobs/{job_id}")))

    async def wait(self, job_id: str, *, seconds: float | None = None) -> RemoteJob:
        """The job when it has ended, well or not. Raises TimeoutError when that takes longer."""
        async with asyncio.timeout(seconds):
            return RemoteJob.of(await self.follow(job_id))

    async def result(self, job_id: str, *, seconds: float | None = None) -> dict[str, Any]:
        """The data a job found, once it has ended. Raises JobFailed when it did not end well."""
        job = await self.wait(job_id, seconds=seconds)
        if not job.good:
            raise JobFailed(job)
        path, params = f"/api/jobs/{job_id}/download", {"form": "data"}
        return await self.patiently(lambda: self.ask("GET", path, params=params))

    async def download(self, job_id: str, form: str | None = None) -> bytes:
        """A complete job's result as a file, in the form that people get or another one."""
        path, params = f"/api/jobs/{job_id}/download", {"form": form} if form else {}
        return await self.patiently(lambda: self.fetch("GET", path, params=params))

    async def receipt(self, job_id: str) -> bytes:
        """A signed statement about a complete job's result; `docmill verify` checks its bytes."""
        return await self.patiently(lambda: self.fetch("GET", f"/api/jobs/{job_id}/receipt"))

    async def cancel(self, job_id: str) -> RemoteJob:
        return RemoteJob.of((await self.ask("POST", f"/api/jobs/{job_id}/cancel"))["job"])

    async def retry(self, job_id: str) -> RemoteJob:
        return RemoteJob.of((await self.ask("POST", f"/api/jobs/{job_id}/retry"))["job"])

    async def ask(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        """One request, one answer in JSON; anything of the API that has no method here."""
        return read_json(await self._request(method, path, **given), self._words)

    async def fetch(self, method: str, path: str, **given: Any) -> bytes:
        """A file that the API makes, whole."""
        return (await self._request(method, path, **given)).content

    async def _request(self, method: str, path: str, **given: Any) -> httpx2.Response:
        with translate_errors(self.base, self._words):
            return check_answer(await self._http.request(method, path, **given), self._words)

    async def jobs(self, limit: int = 0, **only: Any) -> AsyncIterator[dict[str, Any]]:
        """The owner's jobs, newest first: so many, or all of them for 0."""
        async for job in self.rows("/api/jobs", limit, **only):
            yield job

    async def rows(self, path: str, limit: int = 0, **only: Any) -> AsyncIterator[dict[str, Any]]:
        """A list of the API, page by page; its rows stand under the last word of the path."""
        left, cursor = limit or float("inf"), None
        while left > 0:
            params = {**only, "limit": min(left, LARGEST_PAGE), "cursor": cursor}
            given = {name: value for name, value in params.items() if value}
            page = await self.ask("GET", path, params=given)
            found = page[path.rpartition("/")[2]]
            for row in found:
                yield row
            left -= len(found)
            cursor = page["next_cursor"]
            if not cursor:
                return

    async def follow(
        self, job_id: str, on_change: Callable[[Mapping[str, Any]], None] | None = None
    ) -> dict[str, Any]:
        """The job when it has ended; `on_change` hears of it now, and again whenever it changes.

        A docmill that restarts meanwhile goes on with the job, and so do we.
        """
        etag, heard_at = '"none"', time.monotonic()
        while True:
            headers = {"prefer": f"wait={WAIT}", "if-none-match": etag}
            try:
                answer = await self._request("GET", f"/api/jobs/{job_id}", headers=headers)
            except Refused as exc:
                if (exc.code and exc.wait is None) or time.monotonic() - heard_at > PATIENCE:
                    raise
                await asyncio.sleep(exc.wait or 1)
                continue
            heard_at = time.monotonic()
            if answer.status_code == HTTPStatus.NOT_MODIFIED:
                continue
            etag, job = answer.headers.get("etag", ""), read_json(answer, self._words)
            if on_change is not None:
                on_change(job)
            if Status(job["status"]) in ENDED:
                return job

    async def patiently(
        self,
        ask: Callable[[], Awaitable[Answer]],
        waits: Callable[[Refused], None] | None = None,
    ) -> Answer:
        """Try again as often as docmill says when to; a broken connection after 1, 2 and 4 s."""
        for turn in range(1, self._tries + 1):
            try:
                return await ask()
            except Refused as exc:
                pause = PAUSES_AFTER_BREAK.get(turn) if not exc.code else exc.wait
                if turn == self._tries or pause is None:
                    raise
                if waits is not None:
                    waits(exc)
                await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def downloading(
        self, job_id: str, form: str | None = None
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """As `download`, in pieces."""
        path, params = f"/api/jobs/{job_id}/download", {"form": form} if form else {}
        async with self.stream(path, params) as pieces:
            yield pieces

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str] | None = None
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """A file of any size, piece by piece."""
        with translate_errors(self.base, self._words):
            async with self._http.stream("GET", path, params=params) as answer:
                if answer.is_error:
                    await answer.aread()
                yield check_answer(answer, self._words).aiter_bytes()


def _make_form(wishes: Wishes) -> dict[str, str]:
    run_at = wishes.get("run_at")
    asked = {
        "pipeline": wishes.get("pipeline"),
        "mapping": wishes.get("mapping"),
        "fields": wishes.get("fields"),
        "run_at": run_at.isoformat() if isinstance(run_at, datetime) else run_at,
        "after": ",".join(wishes.get("after") or ()),
    }
    return {name: value for name, value in asked.items() if value}


def is_address(document: object) -> bool:
    return isinstance(document, str) and document.lower().startswith(("https://", "http://"))


def _measure(file: BinaryIO) -> tuple[int, str]:
    """Size and SHA-256, a piece at a time."""
    file.seek(0)
    digest, size = hashlib.sha256(), 0
    while piece := file.read(PIECE):
        digest.update(piece)
        size += len(piece)
    return size, digest.hexdigest()


def _measure_size(file: BinaryIO) -> int:
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size


async def _read_pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, PIECE):
        yield piece


def _open_document(document: Document) -> AbstractContextManager[BinaryIO]:
    """A file of the caller's stays open."""
    if isinstance(document, str | Path):
        return Path(document).open("rb")
    return nullcontext(io.BytesIO(document) if isinstance(document, bytes) else document)


def _filename(document: Document) -> str:
    if isinstance(document, str | Path):
        return Path(document).name
    named: Any = getattr(document, "name", "")
    return Path(named).name if isinstance(named, str) and named else "document"
