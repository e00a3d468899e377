"""A thin client of a running docmill: its API in Python's words, its troubles in two lines."""

import io
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import Annotated, Any, Final, Self, cast

import httpx2
import typer

from docmill.cli import sessions
from docmill.cli.console import err
from docmill.cli.documents import OpenDocument
from docmill.core.faults import Told

COOKIE: Final = "docmill_session"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# Uploads are answered when they are on disk; a waiting request is answered after WAIT.
WAIT: Final = 20
TIMEOUT: Final = httpx2.Timeout(connect=10, read=90, write=90, pool=None)
LARGEST_PAGE: Final = 200

# What a command can do, where the API's own advice is for programs.
ADVICE: Final[Mapping[str, str]] = {
    "UNAUTHORIZED": "Give a valid token with --token or DOCMILL_TOKEN.",
    "FORBIDDEN": "Give the token that uploaded it, with --token or DOCMILL_TOKEN.",
    "JOB_NOT_FOUND": "Check the id; `docmill jobs` lists yours.",
    "RATE_LIMITED": "Try again in a minute.",
}

Url = Annotated[
    str, typer.Option(help="Where docmill runs.", envvar="DOCMILL_URL", rich_help_panel="Where")
]
Token = Annotated[
    str | None,
    typer.Option(
        help="Your token, where docmill asks for one.",
        envvar="DOCMILL_TOKEN",
        rich_help_panel="Where",
    ),
]
HERE: Final = "http://127.0.0.1:8000"


class Refused(Told):
    """The server did not do it. With a code when docmill said so."""

    def __init__(
        self,
        says: str,
        advice: str,
        *,
        code: str = "",
        wait: float | None = None,
        jobs: Sequence[str] = (),
    ) -> None:
        super().__init__(f"{says}\n{advice}")
        self.says: str = says
        self.advice: str = advice
        self.code: str = code
        self.wait: float | None = wait
        self.jobs: Sequence[str] = jobs


class Counted(io.FileIO):
    """A file that tells how far it was read."""

    def __init__(self, fd: int, told: Callable[[int], None]) -> None:
        super().__init__(fd, "rb", closefd=False)
        self._told: Callable[[int], None] = told

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self._told(self.tell())
        return data


class Client:
    """One conversation with one docmill, as one owner."""

    def __init__(self, url: str, token: str | None) -> None:
        self.base: str = url.rstrip("/")
        with self._told():
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
        self._anonymous: bool = token is None

    async def __aenter__(self) -> Self:
        if self._anonymous:
            await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def _begin(self) -> None:
        """Be who we were last time."""
        if cookie := sessions.known(self.base):
            self._http.headers["cookie"] = f"{COOKIE}={cookie}"
            return
        try:
            with sessions.turn():
                cookie = sessions.known(self.base) or await self._new_session()
                sessions.remember(self.base, cookie)
        except OSError as exc:
            err.print(f"The session can't be kept in {sessions.place()}: {exc.strerror}.")
        else:
            self._http.headers["cookie"] = f"{COOKIE}={cookie}"

    async def _new_session(self) -> str:
        with self._told():
            answer = _checked(await self._http.get("/api/jobs", params={"limit": 1}))
        cookie = answer.cookies.get(COOKIE)
        if not cookie:
            raise Refused(f"It is not docmill that answers at {self.base}.", "Give --url.")
        return cookie

    async def ask(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        with self._told():
            return _body(_checked(await self._http.request(method, path, **given)))

    async def fetch(self, method: str, path: str, **given: Any) -> bytes:
        """A file that the API makes, whole."""
        with self._told():
            return _checked(await self._http.request(method, path, **given)).content

    async def jobs(self, limit: int, **only: Any) -> AsyncIterator[dict[str, Any]]:
        """The owner's jobs, newest first: so many, or all of them for 0."""
        left, cursor = limit or float("inf"), None
        while left > 0:
            params = {**only, "limit": min(left, LARGEST_PAGE), "cursor": cursor}
            given = {name: value for name, value in params.items() if value}
            page = await self.ask("GET", "/api/jobs", params=given)
            for job in page["jobs"]:
                yield job
            left -= len(page["jobs"])
            cursor = page["next_cursor"]
            if not cursor:
                return

    async def changed(self, job_id: str, etag: str) -> tuple[dict[str, Any] | None, str]:
        """The job as soon as it differs from the one with this etag; None when it did not yet."""
        headers = {"prefer": f"wait={WAIT}", "if-none-match": etag}
        with self._told():
            answer = _checked(await self._http.get(f"/api/jobs/{job_id}", headers=headers))
        if answer.status_code == HTTPStatus.NOT_MODIFIED:
            return None, etag
        return _body(answer), answer.headers.get("etag", "")

    async def upload(
        self, document: OpenDocument, wanted: Mapping[str, str], told: Callable[[int], None]
    ) -> dict[str, Any]:
        """Streams: the file is read as the connection takes it."""
        with Counted(document.fd, told) as file:
            files = {"file": (document.filename, file)}
            return await self.ask("POST", "/api/upload", data=dict(wanted), files=files)

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncGenerator[AsyncIterator[bytes]]:
        """A file of any size, piece by piece."""
        with self._told():
            async with self._http.stream("GET", path) as answer:
                if answer.is_error:
                    await answer.aread()
                yield _checked(answer).aiter_bytes()

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
            says = f"docmill does not answer at {self.base}."
            raise Refused(says, "Start it with `docmill serve`, or give --url.") from exc
        except httpx2.TimeoutException as exc:
            says = f"docmill at {self.base} takes too long to answer."
            raise Refused(says, "Try again; if it goes on, look at its log.") from exc
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as exc:
            says = f"{self.base} is not an address of docmill."
            raise Refused(says, f"Give one like {HERE} with --url or DOCMILL_URL.") from exc
        except httpx2.TransportError as exc:
            says = f"The connection to {self.base} broke."
            raise Refused(says, "Try again; a file sent twice becomes one job.") from exc


def _checked(answer: httpx2.Response) -> httpx2.Response:
    """The answer, or the refusal that it is."""
    if answer.is_success or answer.status_code == HTTPStatus.NOT_MODIFIED:
        return answer
    body = _body(answer)
    code, says = body.get("code"), body.get("error")
    if not code or not says:
        raise _stranger(answer)
    advice = ADVICE.get(code) or _reason(body) or body.get("detail") or ""
    jobs = body.get("jobs") or [body[name] for name in ("jobId",) if name in body]
    raise Refused(f"{says}.", advice, code=code, wait=body.get("retryAfter"), jobs=jobs)


def _reason(body: dict[str, Any]) -> str:
    """What the answer says of this very request, rather than of its kind."""
    mistakes = [f"{each['at']}: {each['message']}." for each in body.get("mistakes", [])]
    return " ".join(mistakes) or body.get("reason", "")


def _body(answer: httpx2.Response) -> dict[str, Any]:
    try:
        found: Any = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _stranger(answer)
    return cast("dict[str, Any]", found)


def _stranger(answer: httpx2.Response) -> Refused:
    says = f"{answer.url.host} answered {answer.status_code}, and not as docmill would."
    return Refused(says, "Check --url; a proxy before docmill may be in trouble.")
