"""The client as commands use it: the session is kept between them, advice speaks of options."""

import io
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Self

import typer

from docmill.cli import sessions
from docmill.cli.console import err
from docmill.cli.documents import OpenDocument
from docmill.client.asynchronous import HERE, LARGEST_PAGE, AsyncClient
from docmill.client.refusals import Refused, Words

__all__ = ["HERE", "LARGEST_PAGE", "Client", "Refused", "Token", "Url"]

COOKIE: Final = "docmill_session"

# What a command can do, where the API's own advice is for programs.
WORDS: Final = Words(
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
        help="Your token, where docmill asks for one.",
        envvar="DOCMILL_TOKEN",
        rich_help_panel="Where",
    ),
]


class Counted(io.FileIO):
    """A file that tells how far it was read."""

    def __init__(self, fd: int, told: Callable[[int], None]) -> None:
        super().__init__(fd, "rb", closefd=False)
        self._told: Callable[[int], None] = told

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self._told(self.tell())
        return data


class Client(AsyncClient):
    """Who has no token is who he was last time."""

    def __init__(self, url: str, token: str | None) -> None:
        super().__init__(url, token, words=WORDS)
        self._anonymous: bool = token is None

    async def __aenter__(self) -> Self:
        if self._anonymous:
            await self._begin()
        return self

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
        answer = await self._asked("GET", "/api/jobs", params={"limit": 1})
        cookie = answer.cookies.get(COOKIE)
        if not cookie:
            raise Refused(f"It is not docmill that answers at {self.base}.", "Give --url.")
        return cookie

    async def upload(
        self, document: OpenDocument, wanted: Mapping[str, str], told: Callable[[int], None]
    ) -> dict[str, Any]:
        """Streams: the file is read as the connection takes it."""
        with Counted(document.fd, told) as file:
            files = {"file": (document.filename, file)}
            return await self.ask("POST", "/api/upload", data=dict(wanted), files=files)
