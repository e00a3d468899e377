"""Templates and static files: what pages are made of. Each room has its own beside ours."""

import hashlib
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from docmill.core.installed import find_rooms
from docmill.core.plugins import MenuEntry
from docmill.web.params import format_instant

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

_FOLDERS: Final = [Path(__file__).parent]
_TEMPLATES: Final = FileSystemLoader(_FOLDERS[0] / "templates")


def add_rooms(packages: Iterable[str]) -> None:
    """From now on pages are also made of what these packages have in `templates` and `static`."""
    for folder in (Path(str(files(package))) for package in packages):
        if folder not in _FOLDERS:
            _FOLDERS.append(folder)
            _TEMPLATES.searchpath.append(str(folder / "templates"))


def static_folders() -> list[Path]:
    return [folder / "static" for folder in _FOLDERS]


def static_url(name: str) -> str:
    """The address of a static file, which changes with its content."""
    path = next(path for folder in static_folders() if (path := folder / name).exists())
    mark = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={mark}"


QUEUE: Final = MenuEntry("queue", "/queue", "Queue", position=0)
DOCUMENTS: Final = MenuEntry("documents", "/documents", "Documents", position=5)
API: Final = MenuEntry("docs", "/docs", "API", position=100)
# Whether who looks at a page looks after the installation.
IS_ADMIN: Final[ContextVar[bool]] = ContextVar("is_admin", default=False)


def list_menu() -> list[MenuEntry]:
    entries = (
        one
        for room in find_rooms().rooms.values()
        for one in room.menu
        if IS_ADMIN.get() or not one.admin
    )
    return sorted((QUEUE, DOCUMENTS, *entries, API), key=lambda one: one.position)


def format_size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def format_span(seconds: float) -> str:
    """How long something took, to about two figures."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min {seconds % MINUTE:.0f} s"
    return f"{seconds // HOUR:.0f} h {seconds % HOUR // MINUTE:.0f} min"


def format_age(at: datetime) -> str:
    """As messages.js writes it."""
    seconds = (datetime.now(UTC) - at).total_seconds()
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min ago"
    if seconds < DAY:
        return f"{seconds // HOUR:.0f} h ago"
    return f"{seconds // DAY:.0f} d ago"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who looks at a page, where people can sign in; the bar says so."""

    signed_in: bool
    name: str = ""


VISITOR: Final[ContextVar[Visitor | None]] = ContextVar("viewer", default=None)
_GLOBALS: Final[dict[str, Any]] = {
    "static": static_url,
    "menu": list_menu,
    "viewer": VISITOR.get,
}
ENVIRONMENT: Final = Environment(
    loader=_TEMPLATES,
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= {
    "size": format_size,
    "span": format_span,
    "ago": format_age,
    "iso": format_instant,
}
ENVIRONMENT.globals |= _GLOBALS


def render_template(template: str, **context: Any) -> str:
    return ENVIRONMENT.get_template(template).render(**context)


def render_page(template: str, *, status: int = 200, **context: Any) -> Response:
    headers = {"cache-control": "private, no-cache"}
    return HTMLResponse(render_template(template, **context), status, headers)


class StaticAssets(StaticFiles):
    """Kept by browsers for ever under their marked address, asked for again under the plain one."""

    def __init__(self) -> None:
        super().__init__(directory=static_folders()[0])
        self.all_directories = static_folders()

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        marked = scope.get("query_string", b"").startswith(b"v=")
        kept = f"public, max-age={365 * DAY}, immutable" if marked else "no-cache"
        response.headers["cache-control"] = kept
        return response
