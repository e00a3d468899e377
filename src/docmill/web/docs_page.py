"""The page /docs: every route with its parameters, bodies, answers and examples, and try-it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.faults import FAULTS
from docmill.web import render
from docmill.web.examples import JSON, MULTIPART, write_curl, write_python
from docmill.web.problems import MEDIA_TYPE

router = APIRouter(include_in_schema=False)

# In the order people need them; what else there is comes after.
GROUPS: Final = {
    "upload": "Send documents",
    "jobs": "Jobs",
    "results": "Results",
    "reviews": "Reviews",
    "account": "Account and keys",
    "settings": "Settings",
    "profile": "Settings",
    "trades": "Trades",
    "search": "Search",
    "documents": "Documents",
    "bucket": "Bucket",
    "catalog": "What is offered",
    "health": "Health",
}
WHERE: Final = {MULTIPART: "form", JSON: "body"}
CODE: Final = re.compile(r"`([^`]+)`")
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ShownField:
    """One row of a table: a parameter, or a field of a body."""

    name: str
    where: str
    kind: Markup
    says: Markup
    required: bool
    example: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    status: str
    kind: Markup
    says: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownRoute:
    """A route as the page draws it. `anchor` is its place on the page."""

    method: str
    path: str
    anchor: str
    summary: Markup
    says: Markup
    curl: str
    python: str
    fields: tuple[ShownField, ...]
    body: tuple[ShownField, ...]
    body_kind: str
    answers: tuple[ShownAnswer, ...]


@dataclass(frozen=True, slots=True)
class RouteGroup:
    title: str
    anchor: str
    routes: list[ShownRoute] = field(default_factory=list[ShownRoute])


@router.get("/docs")
async def docs_page(request: Request) -> Response:
    document = request.app.openapi()
    faults = [fault.fill(request.app.state.fault_facts) for fault in FAULTS.values()]
    config = request.app.state.site.config
    return render.render_page(
        "docs.html",
        version=document["info"]["version"],
        groups=group_routes(document),
        schemas=list(_list_schemas(document)),
        faults=faults,
        auth_mode=config.auth_mode,
        config=config,
        here=f"{request.url.scheme}://{request.url.netloc}",
    )


def group_routes(document: Schema) -> list[RouteGroup]:
    groups = {title: RouteGroup(title, _anchor(title)) for title in GROUPS.values()}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            title = GROUPS.get(tag, tag.capitalize())
            group = groups.setdefault(title, RouteGroup(title, _anchor(title)))
            group.routes.append(_show_route(method.upper(), path, operation))
    return [group for group in groups.values() if group.routes]


def _anchor(text: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in text.lower()).strip("-")


def _show_route(method: str, path: str, operation: Schema) -> ShownRoute:
    content: Schema = operation.get("requestBody", {}).get("content", {})
    kind = next(iter(content), "")
    body: Schema = content[kind]["schema"] if kind else {}
    return ShownRoute(
        method=method,
        path=path,
        anchor=_anchor(f"{method} {path}"),
        summary=mark_code(operation.get("summary", "")),
        says=mark_code(operation.get("description", "")),
        curl=write_curl(method, path, operation),
        python=write_python(method, path, operation),
        fields=tuple(_show_parameter(one) for one in operation.get("parameters", ())),
        body=tuple(_list_fields(body, WHERE.get(kind, kind))),
        body_kind=kind,
        answers=tuple(
            _show_answer(status, answer)
            for status, answer in sorted(operation["responses"].items())
        ),
    )


def _show_parameter(one: Schema) -> ShownField:
    schema: Schema = one["schema"]
    says = one.get("description") or schema.get("description", "")
    required = bool(one.get("required"))
    return _show_field(one["name"], one["in"], {**schema, "description": says}, required=required)


def _list_fields(schema: Schema, where: str) -> Iterator[ShownField]:
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        yield _show_field(name, where, one, required=name in required)


def _show_field(name: str, where: str, schema: Schema, *, required: bool) -> ShownField:
    examples = schema.get("examples") or ()
    return ShownField(
        name=name,
        where=where,
        kind=describe_type(schema),
        says=mark_code(schema.get("description", "")),
        required=required,
        example=str(examples[0]) if examples else "",
        choices=tuple(str(word) for word in schema.get("enum", ())),
    )


def mark_code(text: str) -> Markup:
    """One line, in which what stands in backticks is code."""
    parts = CODE.split(" ".join(text.split()))
    marked = (
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part)
        for at, part in enumerate(parts)
    )
    return Markup("").join(marked)


def describe_type(schema: Schema) -> Markup:
    """In a few words, with links to the bodies it is made of."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return Markup('<a href="#schema-{0}">{0}</a>').format(name)
    if choices := schema.get("anyOf"):
        parts = dict.fromkeys(describe_type(one) for one in choices)
        return Markup(" or ").join(parts)
    if schema.get("type") == "array":
        inner: Schema = schema.get("items", {})
        return Markup("list of {}").format(describe_type(inner))
    return escape(schema.get("format") or schema.get("type") or "any")


def _show_answer(status: str, answer: Schema) -> ShownAnswer:
    content: Schema = answer.get("content", {})
    kinds = [
        describe_type(body["schema"]) if body.get("schema") else escape(kind)
        for kind, body in content.items()
        if kind != MEDIA_TYPE
    ]
    says = answer.get("description", "").replace("Successful Response", "")
    codes = tuple(content.get(MEDIA_TYPE, {}).get("examples", {}))
    return ShownAnswer(status, Markup(", ").join(kinds), "" if codes else says, codes)


def _list_schemas(document: Schema) -> Iterator[tuple[str, Markup, list[ShownField]]]:
    for name, schema in sorted(document["components"]["schemas"].items()):
        says = mark_code(schema.get("description", ""))
        yield name, says, list(_list_fields(schema, ""))
