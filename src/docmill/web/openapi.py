"""The OpenAPI document: what FastAPI gathers, corrected where our API answers otherwise."""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from docmill.core.faults import FAULTS
from docmill.web.middleware import AT_ANY_HOST
from docmill.web.problems import MEDIA_TYPE, Problem, describe_faults, fault_responses

# No database takes a NUL, so every text that has one is refused.
NO_NUL: Final = r"^[^\x00]*$"
DESCRIBED: Final = frozenset({"enum", "const", "pattern", "format", "anyOf"})
VALUES: Final = frozenset({"default", "enum", "const", "example", "examples", "propertyNames"})
TROUBLES: Final = ("DATABASE_DOWN", "BUSY")
TOKEN, SESSION = "token", "session"
SECURITY_SCHEMES: Final = {
    TOKEN: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token of your issuer, with AUTH_MODE=jwt or both; its `sub` is the "
        "owner. Or, in every mode, a key that POST /api/keys made",
    },
    SESSION: {
        "type": "apiKey",
        "in": "cookie",
        "name": "docmill_session",
        "description": "With AUTH_MODE=session or both; the first answer brings the cookie. Its "
        "name is `__Host-docmill_session` behind TLS",
    },
}
# What an operation takes, by the mode of authentication; an empty one is: nothing.
SECURITY: Final[Mapping[str, list[dict[str, list[str]]]]] = {
    "local": [{}],
    "session": [{SESSION: []}, {}],
    "jwt": [{TOKEN: []}],
    "both": [{TOKEN: []}, {SESSION: []}, {}],
}


def make_openapi(app: FastAPI) -> Callable[[], dict[str, Any]]:
    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            app.openapi_schema = _build_document(app)
        return app.openapi_schema

    return openapi


def _build_document(app: FastAPI) -> dict[str, Any]:
    # A copy: what routes say themselves is in it as they hold it.
    document = deepcopy(
        get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    document["components"]["securitySchemes"] = SECURITY_SCHEMES
    security = SECURITY[app.state.site.config.auth_mode]
    schemas["Problem"] = Problem.model_json_schema()
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            schemas |= _take_models(operation)
            _correct(path, method, operation)
            operation["security"] = security if "401" in operation["responses"] else []
            _fill_sentences(operation["responses"].values(), app.state.fault_facts)
    return document


def _take_models(operation: dict[str, Any]) -> dict[str, Any]:
    """The models inside a body that its route reads itself: each is known by its name."""
    content = operation.get("requestBody", {}).get("content", {})
    models = content.get("application/json", {}).get("schema", {}).pop("$defs", {})
    _forbid_nul(models)
    return models


def _correct(path: str, method: str, operation: dict[str, Any]) -> None:
    """What stands before every route may answer as well; bad parameters are 400, not 422."""
    responses: dict[str, Any] = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422", {})):
        del responses["422"]
    for status, response in fault_responses(*_list_codes_before(path, method, operation)).items():
        known = responses.setdefault(str(status), response)
        if known is not response:
            _join(known, response)
    operation["responses"] = dict(sorted(responses.items()))
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
        _forbid_nul(parameter["schema"])
    _forbid_nul(operation.get("requestBody", {}).get("content", {}))


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """An address can leave a parameter out; it has no way to say null."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) != 1:
        return schema
    return {name: part for name, part in schema.items() if name != "anyOf"} | choices[0]


def _forbid_nul(schema: Any) -> None:
    """Every text that can be sent, wherever it stands in a schema, and names that are free."""
    if isinstance(schema, list):
        for each in cast("list[Any]", schema):
            _forbid_nul(each)
    if not isinstance(schema, dict):
        return
    known = cast("dict[str, Any]", schema)
    if known.get("type") == "string" and not DESCRIBED & known.keys():
        known["pattern"] = NO_NUL
    if isinstance(known.get("additionalProperties"), dict):
        known.setdefault("propertyNames", {"pattern": NO_NUL})
    for name, part in [*known.items()]:
        if name not in VALUES:
            _forbid_nul(part)


def _list_codes_before(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    """The faults that a request can meet before its route is asked."""
    codes = ["UNKNOWN"]
    if path not in AT_ANY_HOST:
        codes.append("WRONG_HOST")
    if operation.get("parameters") or "requestBody" in operation:
        codes.append("BAD_REQUEST")
    if "requestBody" in operation:
        codes += ["TOO_SLOW", "TOO_LARGE"]
    if method == "get":
        codes.append("TOO_MANY_REQUESTS")
    if "401" in operation["responses"]:  # it asks who asks
        codes += ["UNAUTHORIZED", "KEYS_UNREACHABLE", "NOT_LOCAL", "CROSS_SITE", "SCOPE_MISSING"]
        codes += TROUBLES
    return codes


def _join(known: dict[str, Any], more: dict[str, Any]) -> None:
    """Both faults' examples, each once."""
    known["content"][MEDIA_TYPE]["examples"] |= more["content"][MEDIA_TYPE]["examples"]


def _fill_sentences(responses: Iterable[dict[str, Any]], facts: Mapping[str, object]) -> None:
    """Sentences name the limits that hold here."""
    for response in responses:
        examples = response.get("content", {}).get(MEDIA_TYPE, {}).get("examples")
        if examples:
            faults = [FAULTS[code].fill(facts) for code in examples]
            response.update(describe_faults(faults))
