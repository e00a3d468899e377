"""A double of OpenAI's API: embeddings, and chat that keeps to a strict JSON schema.

Its embeddings are bags of words, where words of one sense are the same; what it writes is up to a
function of the test, which sees the prompt.
"""

import base64
import json
import math
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from doubles import Asked, Double, told

KEY: Final = "sk-double"
WIDTH: Final = 1536
SENSES: Final = {"car": "vehicle", "automobile": "vehicle", "lorry": "vehicle"}

# The name of the schema and the prompt become the object.
Writes = Callable[[str, str], Mapping[str, Any]]


def refused(status: str, code: str, kind: str = "invalid_request_error", **headers: str) -> bytes:
    error = {"message": "It says why.", "type": kind, "param": None, "code": code}
    return told(status, {"error": error}, **headers)


def slow_down(seconds: int) -> bytes:
    return refused(
        "429 Too Many Requests", "rate_limit_exceeded", "requests", retry_after=str(seconds)
    )


class OpenAIDouble(Double):
    def __init__(self, writes: Writes = lambda _, __: {}, *, fixed: bool = False) -> None:
        """`fixed`: its embeddings have one width, and it refuses to be asked for another."""
        super().__init__()
        self._writes = writes
        self._fixed = fixed

    def heard(self, path: str) -> list[Any]:
        """The bodies that came by one way, such as `/embeddings`."""
        return [one.json for one in self.asked if one.path == f"/v1{path}"]

    def respond(self, asked: Asked) -> bytes:
        if asked.headers.get("authorization") != f"Bearer {KEY}":
            return refused("401 Unauthorized", "invalid_api_key")
        if (asked.method, asked.path) == ("POST", "/v1/embeddings"):
            if self._fixed and "dimensions" in asked.json:
                return refused("400 Bad Request", "invalid_dimensions")
            return _embedded(asked.json)
        if (asked.method, asked.path) == ("POST", "/v1/chat/completions"):
            return self._written(asked.json)
        return refused("404 Not Found", "unknown_url")

    def _written(self, body: dict[str, Any]) -> bytes:
        form = body["response_format"]["json_schema"]
        if wrong := next(_loose(form["schema"], "root"), ""):
            return refused("400 Bad Request", f"invalid_schema_{wrong}")
        (prompt,) = (one["content"] for one in body["messages"] if one["role"] == "user")
        content = json.dumps(self._writes(form["name"], prompt))
        message = {"role": "assistant", "content": content, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "usage": _usage()}
        return told("200 OK", {**about, "model": body["model"], "choices": [choice]})


def settings(double: OpenAIDouble, writer: str | None = None) -> dict[str, Any]:
    """What an operator sets to use it: a model that embeds, perhaps one that writes."""
    known = {"openai_url": f"{double.url}/v1", "openai_api_key": KEY}
    known |= {"openai_embedding_model": "text-embedding-3-small"}
    return known | ({"openai_model": writer} if writer else {})


def _loose(schema: Any, where: str) -> Iterator[str]:
    """Where a schema is not as strict mode wants it: every object closed, and all required."""
    if not isinstance(schema, dict):
        return
    shape = cast("dict[str, Any]", schema)
    if "properties" in shape:
        closed = shape.get("additionalProperties") is False
        if not closed or set(shape.get("required", ())) != set(shape["properties"]):
            yield where
        for name, part in shape["properties"].items():
            yield from _loose(part, name)
    yield from _loose(shape.get("items"), f"{where}.items")


def _embedded(body: dict[str, Any]) -> bytes:
    given = body["input"]
    texts = [given] if isinstance(given, str) else given
    if not texts or not all(texts):
        return refused("400 Bad Request", "invalid_input")
    as_text = body.get("encoding_format") == "base64"
    vectors = [vector(text, body.get("dimensions") or WIDTH) for text in texts]
    data = [
        {"object": "embedding", "index": at, "embedding": _packed(one) if as_text else one}
        for at, one in enumerate(vectors)
    ]
    # In no order: that is what the index is for.
    return told("200 OK", {"object": "list", "data": data[::-1], "model": body["model"],
                           "usage": _usage()})  # fmt: skip


def vector(text: str, width: int) -> list[float]:
    sides = [0.0] * width
    for word in re.findall(r"\w+", text.lower()):
        sense = SENSES.get(word, str(word))
        sides[zlib.crc32(sense.encode()) % width] += 1.0
    length = math.sqrt(sum(side * side for side in sides)) or 1.0
    return [side / length for side in sides]


def _packed(sides: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(sides)}f", *sides)).decode()


def _usage() -> dict[str, int]:
    return {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}
