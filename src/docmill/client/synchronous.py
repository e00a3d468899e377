"""The same client for programs without an event loop: it has one, in a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar, Unpack

from docmill.client.answers import RemoteJob
from docmill.client.asynchronous import HERE, TRIES, AsyncClient, Document, Wishes

Answer = TypeVar("Answer")


class Client:
    """See AsyncClient, whose methods these are. Close it, or use it in a `with` block."""

    def __init__(self, url: str = HERE, token: str | None = None, *, tries: int = TRIES) -> None:
        self._client: AsyncClient = AsyncClient(url, token, tries=tries)
        self._loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._thread: threading.Thread = threading.Thread(
            target=self._loop.run_forever, name="docmill-client", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._done(self._client.__aexit__())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def submit(self, document: Document, **wishes: Unpack[Wishes]) -> RemoteJob:
        return self._done(self._client.submit(document, **wishes))

    def job(self, job_id: str) -> RemoteJob:
        return self._done(self._client.job(job_id))

    def wait(self, job_id: str, *, seconds: float | None = None) -> RemoteJob:
        return self._done(self._client.wait(job_id, seconds=seconds))

    def result(self, job_id: str, *, seconds: float | None = None) -> dict[str, Any]:
        return self._done(self._client.result(job_id, seconds=seconds))

    def download(self, job_id: str, form: str | None = None) -> bytes:
        return self._done(self._client.download(job_id, form))

    def receipt(self, job_id: str) -> bytes:
        return self._done(self._client.receipt(job_id))

    def cancel(self, job_id: str) -> RemoteJob:
        return self._done(self._client.cancel(job_id))

    def retry(self, job_id: str) -> RemoteJob:
        return self._done(self._client.retry(job_id))

    def link(
        self, job_id: str, form: str | None = None, *, expires_in: int | None = None
    ) -> dict[str, Any]:
        return self._done(self._client.link(job_id, form, expires_in=expires_in))

    def boost(self, job_id: str) -> int:
        return self._done(self._client.boost(job_id))

    def ask(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        return self._done(self._client.ask(method, path, **given))

    def fetch(self, method: str, path: str, **given: Any) -> bytes:
        return self._done(self._client.fetch(method, path, **given))

    def jobs(self, limit: int = 0, **only: Any) -> list[dict[str, Any]]:
        async def collect() -> list[dict[str, Any]]:
            return [job async for job in self._client.jobs(limit, **only)]

        return self._done(collect())

    def _done(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """An interrupt of the program ends what it waits for."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
