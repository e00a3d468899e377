"""Requests as people would write them, in curl and in Python, made from the OpenAPI document."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

MULTIPART: Final = "multipart/form-data"
JSON: Final = "application/json"
# What stands for an id in an address; a shell and Python have it as a variable.
PART: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
VARIABLES: Final = {"job_id": "id", "jobId": "id"}
# What the Python client has a method for.
METHODS: Final = {
    "POST /api/upload": 'job = docmill.submit("invoice.pdf")',
    "GET /api/jobs/{job_id}": "job = docmill.job(id)",
    "GET /api/jobs/{job_id}/download": "data = docmill.download(id)",
    "POST /api/jobs/{job_id}/retry": "job = docmill.retry(id)",
    "POST /api/jobs/{job_id}/cancel": "job = docmill.cancel(id)",
    "POST /api/jobs/{job_id}/boost": "priority = docmill.boost(id)",
    "POST /api/jobs/{job_id}/links": "link = docmill.link(id, expires_in=3600)",
    "POST /api/uploads": 'job = docmill.submit("invoice.pdf", direct=True)',
    "GET /api/jobs": "jobs = docmill.jobs(20)",
}
# Stands for the id of a job inside a body.
ID: Final = "__id__"
# Bodies that say more than the least that their form allows.
BODIES: Final[Mapping[str, Any]] = {
    "POST /api/exports": {"jobs": [ID]},
    "POST /api/reviews/{job_id}/edits": {
        "revision": 0,
        "edits": [{"path": "invoice_number", "value": "INV-17"}],
    },
    "POST /api/reviews/{job_id}/check": {"edits": [{"path": "totals.net", "value": "1250.00"}]},
    "POST /api/reviews/{job_id}/reject": {"revision": 0, "reason": "not an invoice"},
    "POST /api/documents/{document_id}/trades/edits": {
        "revision": 0,
        "edits": [{"path": "lines[0]", "value": {"direction": "buy", "name": "SIEMENS AG"}}],
    },
    "POST /api/documents/{document_id}/trades/check": {
        "edits": [{"path": "lines[0].quantity", "value": "25"}]
    },
    "POST /api/documents/{document_id}/trades/reject": {"revision": 0, "reason": "a copy"},
    "PUT /api/profile": {"tin": "01.234.567.8-901.000", "trx_code": "04"},
    "POST /api/keys": {"name": "nightly import", "scopes": ["read"], "expires_days": 90},
    "POST /api/reprocess": {"pipeline": "invoice"},
    "POST /api/uploads": {"filename": "invoice.pdf", "bytes": 48213, "pipeline": "invoice"},
    "POST /api/jobs/{job_id}/links": {"format": "json", "expires_in": 3600},
}
# A signed address comes whole with an answer, and a stream of events has no end.
CURL: Final = {
    "GET /files/{key}": 'curl -f -o document.pdf "$pdf_url"',
    "GET /links/{job_id}": 'curl -f -o result "$link_url"',
    "PUT /api/uploads/{upload_id}/content": 'curl -f -T invoice.pdf "$upload_url"',
    "GET /api/events": "curl -fN $docmill/api/events",
    "GET /api/jobs/{job_id}/download": (
        "curl -f --compressed -o result $docmill/api/jobs/$id/download"
    ),
}
PYTHON: Final = {
    "GET /files/{key}": 'data = docmill.fetch("GET", pdf_url)',
    "GET /links/{job_id}": 'data = docmill.fetch("GET", link_url)',
    "PUT /api/uploads/{upload_id}/content": (
        'docmill.fetch("PUT", upload_url, content=Path("invoice.pdf").read_bytes())'
    ),
}
# Texts without an example of their own in the document.
WORDS: Final = {"q": "invoice"}

Operation = Mapping[str, Any]


def write_curl(method: str, path: str, operation: Operation) -> str:
    """With $docmill for the address and $id for ids; fails loudly (-f)."""
    title = f"{method} {path}"
    if known := CURL.get(title):
        return known
    place = PART.sub(lambda found: f"${_variable(found[1])}", path)
    address = f"$docmill{place}{_write_query(operation)}"
    parts = ["curl -f"]
    if method != "GET":
        parts.append(f"-X {method}")
    content = operation.get("requestBody", {}).get("content", {})
    if MULTIPART in content:
        parts = ["curl -f -F file=@invoice.pdf"]
    elif JSON in content:
        body = shlex.quote(json.dumps(_make_body(title, content[JSON]["schema"])))
        body = body.replace(ID, "'$id'")
        parts.append(f"-H 'Content-Type: {JSON}' -d {body}")
    elif not _answers_json(operation) and method == "GET":
        parts.append("-o answer")
    return " ".join([*parts, f'"{address}"' if "?" in address else address])


def write_python(method: str, path: str, operation: Operation) -> str:
    title = f"{method} {path}"
    if known := METHODS.get(title) or PYTHON.get(title):
        return known
    named = PART.sub(lambda found: f"{{{_variable(found[1])}}}", path)
    place = f'f"{named}"' if "{" in named else f'"{named}"'
    given = [f'"{method}"', place]
    if query := _required_query(operation):
        given.append(f"params={query!r}")
    content = operation.get("requestBody", {}).get("content", {})
    if MULTIPART in content:
        given.append('files={"file": ("invoice.pdf", Path("invoice.pdf").read_bytes())}')
    elif JSON in content:
        body = _make_body(title, content[JSON]["schema"])
        given.append(f"json={body!r}".replace(f"'{ID}'", "id"))
    verb = "ask" if _answers_json(operation) else "fetch"
    return f"answer = docmill.{verb}({', '.join(given)})"


def _answers_json(operation: Operation) -> bool:
    good = (answer for status, answer in operation["responses"].items() if status.startswith("2"))
    return any(JSON in answer.get("content", {}) for answer in good)


def _variable(name: str) -> str:
    return VARIABLES.get(name, name)


def _make_body(title: str, schema: Mapping[str, Any]) -> Any:
    return BODIES.get(title) or make_example(schema)


def _required_query(operation: Operation) -> dict[str, Any]:
    return {
        one["name"]: WORDS.get(one["name"]) or make_example(one["schema"])
        for one in operation.get("parameters", ())
        if one["in"] == "query" and one.get("required")
    }


def _write_query(operation: Operation) -> str:
    query = _required_query(operation)
    return f"?{urlencode(query)}" if query else ""


def make_example(schema: Mapping[str, Any]) -> Any:
    """A value that fits: the schema's own example, or the least that its form allows."""
    for name in ("examples", "enum"):
        if schema.get(name):
            return schema[name][0]
    if "default" in schema:
        return schema["default"]
    if choices := schema.get("anyOf"):
        return make_example(choices[0])
    if schema.get("type") == "object":
        return _object_example(schema)
    if schema.get("type") == "array":
        return [make_example(schema["items"])] if schema.get("minItems") else []
    plain = {"string": "text", "integer": max(0, schema.get("minimum", 0)), "number": 1}
    return plain.get(schema.get("type", ""), schema.get("type") == "boolean")


def _object_example(schema: Mapping[str, Any]) -> dict[str, Any]:
    known: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    return {name: make_example(known[name]) for name in known if name in required}
