"""The OpenAPI document: what FastAPI gathers, corrected where our API answers otherwise."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from docmill.web.edits import Edit
from docmill.web.problems import Problem, documented


def openapi_of(app: FastAPI) -> Callable[[], dict[str, Any]]:
    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            app.openapi_schema = _made(app)
        return app.openapi_schema

    return openapi


def _made(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, routes=app.routes
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema()
    schemas["Edit"] = Edit.model_json_schema()
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    for operations in document["paths"].values():
        for operation in operations.values():
            _correct(operation["responses"])
    return document


def _correct(responses: dict[str, Any]) -> None:
    """Bad parameters are 400 here, not FastAPI's 422."""
    given = responses.get("422", {}).get("content", {}).get("application/json")
    if given and "HTTPValidationError" in str(given):
        del responses["422"]
        responses.setdefault("400", documented("BAD_REQUEST")[400])
