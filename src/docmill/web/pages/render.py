"""Templates and static files: what pages are made of."""

import hashlib
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from docmill.web.pages import words
from docmill.web.shapes import iso

HERE: Final = Path(__file__).parent.parent
STATIC: Final = HERE / "static"
DAY: Final = 24 * 3600


def static(name: str) -> str:
    """The address of a static file, which changes with its content."""
    mark = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={mark}"


_NAMES: Final[dict[str, Any]] = {"static": static}
ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= {"size": words.size, "span": words.span, "ago": words.ago, "iso": iso}
ENVIRONMENT.globals |= _NAMES


def draw(template: str, **context: Any) -> str:
    return ENVIRONMENT.get_template(template).render(**context)


def page(template: str, *, status: int = 200, **context: Any) -> Response:
    headers = {"cache-control": "private, no-cache"}
    return HTMLResponse(draw(template, **context), status, headers)


class Files(StaticFiles):
    """Kept by browsers for ever under their marked address, asked for again under the plain one."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        marked = scope.get("query_string", b"").startswith(b"v=")
        kept = f"public, max-age={365 * DAY}, immutable" if marked else "no-cache"
        response.headers["cache-control"] = kept
        return response
