"""The client as commands use it: the session is kept between them, advice speaks of options."""

import asyncio
import fcntl
import io
import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Self

import httpx2
import typer

from docmill.cli.console import err
from docmill.cli.files import OpenDocument, write_whole
from docmill.client.answers import Advice, Refused, read_json
from docmill.client.asynchronous import HERE, LARGEST_PAGE, AsyncClient
from docmill.core.json_values import as_object

__all__ = ["HERE", "LARGEST_PAGE", "Refused", "RemoteClient", "Token", "Url"]

COOKIE: Final = "docmill_session"
SECURE_COOKIE: Final = f"__Host-{COOKIE}"

# What a command can do, where the API's own advice is for programs.
ADVICE: Final = Advice(
    silent="Start it with `docmill serve`, or give --url.",
    address=f"Give one like {HERE} with --url or DOCMILL_URL.",
    stranger="Check --url; a proxy before docmill may be in trouble.",
    by_code={
        "UNAUTHORIZED": "Give a valid token with --token or DOCMILL_TOKEN.",
        "FORBIDDEN": "Give the token that uploaded it, with --token or DOCMILL_TOKEN.",
        "JOB_NOT_FOUND": "Check the id; `docmill jobs` lists yours.",
        "RATE_LIMITED": "Try again in a minute.",
    },
)

Url = Annotated[
    str, typer.Option(help="Where docmill runs.", envvar="DOCMILL_URL", rich_help_panel="Where")
]
Token = Annotated[
    str | None,
    typer.Option(
        help="Your token or key, if docmill requires one.",
        envvar="DOCMILL_TOKEN",
        rich_help_panel="Where",
    ),
]


def ask_once(url: str, token: str | None, method: str, path: str, **given: Any) -> Any:
    """One question and its answer: all that most commands are."""

    async def ask() -> dict[str, Any]:
        async with RemoteClient(url, token) as client:
            return await client.ask(method, path, **given)

    return asyncio.run(ask())


def list_rows(
    url: str, token: str | None, path: str, limit: int, **only: Any
) -> list[dict[str, Any]]:
    """A list of the API: so many rows, or all of them for 0."""

    async def collect() -> list[dict[str, Any]]:
        async with RemoteClient(url, token) as client:
            return [row async for row in client.rows(path, limit, **only)]

    return asyncio.run(collect())


class CountedFile(io.FileIO):
    """A file that tells how far it was read."""

    def __init__(self, fd: int, on_read: Callable[[int], None]) -> None:
        super().__init__(fd, "rb", closefd=False)
        self._on_read: Callable[[int], None] = on_read

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self._on_read(self.tell())
        return data


class RemoteClient(AsyncClient):
    """Who has no token is who he was last time."""

    def __init__(self, url: str, token: str | None) -> None:
        super().__init__(url, token, words=ADVICE)
        self._anonymous: bool = token is None

    async def __aenter__(self) -> Self:
        if self._anonymous:
            await self._begin()
        return self

    async def _begin(self) -> None:
        """Be who we were last time."""
        if cookie := load_cookie(self.base):
            self._send_cookie(cookie)
            return
        try:
            with lock_sessions():
                cookie = load_cookie(self.base) or await self._new_session()
                if cookie is None:
                    return
                save_cookie(self.base, cookie)
        except OSError as exc:
            err.print(f"The session can't be kept in {sessions_file()}: {exc.strerror}.")
        else:
            self._send_cookie(cookie)

    def _send_cookie(self, cookie: str) -> None:
        """By both names: whether docmill stands behind TLS is its own affair."""
        self._http.headers["cookie"] = f"{COOKIE}={cookie}; {SECURE_COOKIE}={cookie}"

    async def _request(self, method: str, path: str, **given: Any) -> httpx2.Response:
        """A docmill that does not know our session any more gives us another: that is kept."""
        answer = await super()._request(method, path, **given)
        if self._anonymous and "cookie" in self._http.headers and (cookie := _read_cookie(answer)):
            self._send_cookie(cookie)
            with suppress(OSError), lock_sessions():
                save_cookie(self.base, cookie)
        return answer

    async def _new_session(self) -> str | None:
        """None where docmill asks for no session: it serves one person alone."""
        answer = await self._request("GET", "/api/jobs", params={"limit": 1})
        cookie = _read_cookie(answer)
        if cookie is None and "jobs" not in read_json(answer, ADVICE):
            raise Refused(f"It is not docmill that answers at {self.base}.", "Give --url.")
        return cookie

    async def upload(
        self,
        documents: Sequence[OpenDocument],
        wanted: Mapping[str, str],
        on_read: Callable[[int], None],
    ) -> dict[str, Any]:
        """All in one request. Streams: files are read as the connection takes them."""
        read = [0] * len(documents)

        def count(at: int, done: int) -> None:
            read[at] = done
            on_read(sum(read))

        with ExitStack() as stack:
            files = [
                (
                    "file",
                    (one.filename, stack.enter_context(CountedFile(one.fd, partial(count, at)))),
                )
                for at, one in enumerate(documents)
            ]
            return await self.ask("POST", "/api/upload", data=dict(wanted), files=files)


def _read_cookie(answer: httpx2.Response) -> str | None:
    return answer.cookies.get(SECURE_COOKIE) or answer.cookies.get(COOKIE)


def sessions_file() -> Path:
    """The cookie of each docmill, for its owner alone.

    XDG_CONFIG_HOME/docmill/sessions.json; a relative XDG_CONFIG_HOME is to be ignored.
    """
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    folder = given if given.is_absolute() else Path.home() / ".config"
    return folder / "docmill" / "sessions.json"


@contextmanager
def lock_sessions() -> Generator[None]:
    """One at a time: commands started together must not make a session each."""
    sessions_file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with sessions_file().with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def load_cookie(base: str) -> str | None:
    found = _load_all().get(base)
    return found if isinstance(found, str) else None


def save_cookie(base: str, cookie: str) -> None:
    """Inside `lock_sessions`."""
    with write_whole(sessions_file(), mode=0o600) as file:
        file.write(json.dumps(_load_all() | {base: cookie}, indent=2).encode())


def _load_all() -> dict[str, Any]:
    try:
        return as_object(json.loads(sessions_file().read_bytes()))
    except (OSError, ValueError):
        return {}
