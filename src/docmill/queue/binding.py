"""Moves as the settling statement takes them: an array for each column, which is read quickest."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

# What nearly every ending has, and what few have: by the name of the parameter, and alone.
GIVEN: Final = {
    "ids": "id", "claims": "claim", "goes": "goes", "outcomes": "outcome", "codes": "code",
    "keeps": "keep", "keys": "result_key", "durations": "duration_ms", "cpus": "cpu_ms",
    "memories": "memory_bytes",
}  # fmt: skip
RARE: Final = (
    "message", "detail", "stack", "delay", "refund", "reason", "reading_key", "summary", "read_as",
    "call",
)  # fmt: skip
RESULTS: Final = {
    "forms": "form", "result_keys": "key", "content_types": "content_type", "sizes": "bytes",
    "stored_sizes": "stored_bytes", "sha256s": "sha256", "versions": "version",
    "docmills": "docmill", "mappings": "mapping",
}  # fmt: skip


def bind_moves(moves: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By the name of the parameter."""
    results = [(move, one) for move in moves for one in move.get("results") or ()]
    bound = {name: _make_array([move.get(key) for move in moves]) for name, key in GIVEN.items()}
    bound["metas"] = json.dumps([_describe_end(move) for move in moves])
    bound["rests"] = json.dumps([_gather_rest(move) for move in moves])
    bound["result_ids"] = _make_array([move["id"] for move, _ in results])
    bound["result_claims"] = _make_array([move["claim"] for move, _ in results])
    for name, key in RESULTS.items():
        bound[name] = _make_array([one.get(key) for _, one in results])
    return bound


def _describe_end(move: Mapping[str, Any]) -> dict[str, Any]:
    """What the event tells."""
    told = {
        "from": "processing", "to": move["goes"], "outcome": move.get("outcome"),
        "claim": move["claim"], "attempt": move.get("attempt"), "code": move.get("code"),
        "duration_ms": move.get("duration_ms"),
    }  # fmt: skip
    if call := move.get("call"):
        told |= _strip_nulls(call)
    return {name: value for name, value in told.items() if value is not None}


def _strip_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {name: _strip_nulls(one) for name, one in items if one is not None}
    if isinstance(value, list):
        return [_strip_nulls(one) for one in cast("list[Any]", value)]
    return value


def _gather_rest(move: Mapping[str, Any]) -> dict[str, Any] | None:
    rest = {name: move[name] for name in RARE if move.get(name) not in (None, False)}
    return rest or None


def _make_array(values: Sequence[str | int | None]) -> str:
    """PostgreSQL's own way to write one."""
    return "{" + ",".join([_quote(value) for value in values]) + "}"


def _quote(value: str | int | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if '"' in value or "\\" in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'
