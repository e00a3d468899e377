"""OpenAI, or whoever speaks its protocol: embeddings, and chat that answers with a JSON object."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from docmill.core.faults import DocmillError
from docmill.services.endpoint import Endpoint
from docmill.services.shapes import MOST_CHARS, find_mismatch, parse_object

Texts = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=2048)]
Vector = Annotated[list[FiniteFloat], Field(min_length=1)]
MOST_TOKENS: Final = 1_000_000_000  # a larger count is no count


class ToEmbed(BaseModel, frozen=True, extra="forbid"):
    """What `embed` is asked."""

    texts: Texts
    dimensions: int | None = None


class ToComplete(BaseModel, frozen=True, extra="forbid"):
    """What `complete` is asked; `schema_` is the JSON schema of what shall come back.

    `version` is that of the words of the question, for the record. `exact`: an answer that does not
    keep to the schema is a failure of the service, and so it is never kept for another attempt.
    """

    system: str
    prompt: str
    schema_: Mapping[str, Any] = Field(alias="schema")
    name: str = Field("answer", pattern=r"^[A-Za-z0-9_-]{1,64}$")
    version: str = Field("", pattern=r"^[A-Za-z0-9._-]{0,64}$")
    exact: bool = False


class _Embedding(BaseModel):
    index: int
    embedding: Vector


class _Embeddings(BaseModel):
    data: list[_Embedding]


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Chat(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1)]


Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class TokenUsage(BaseModel, frozen=True):
    """What a service counts an answer at; it may leave it out."""

    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None


class _Counted(BaseModel):
    usage: TokenUsage = TokenUsage()


@dataclass(frozen=True, slots=True)
class OpenAI:
    """`model` is the one that embeds or the one that writes; nothing is chosen for the operator.

    `dimensions` are those of embeddings where who asks does not say; None: as the model gives them.
    """

    endpoint: Endpoint
    model: str
    dimensions: int | None = None

    async def embed(self, request: Any) -> dict[str, Any]:
        """`{"texts": [...], "dimensions"?: n}` becomes `{"vectors": [[...]], "model": ...}`."""
        asked = _validate_request(ToEmbed, request)
        body: dict[str, Any] = {
            "model": self.model, "input": asked.texts, "encoding_format": "float",
        }  # fmt: skip
        if dimensions := asked.dimensions or self.dimensions:
            body["dimensions"] = dimensions
        answer = await self.endpoint.post("/embeddings", json=body)
        return {"vectors": _read_vectors(answer, len(asked.texts)), "model": self.model}

    async def complete(self, request: Any) -> dict[str, Any]:
        """`{"system", "prompt", "schema", ...}` becomes `{"value": {...}, "model", "usage"}`.

        Services keep to the schema more or less: unless the request says `exact`, who asks looks at
        the value again.
        """
        asked = _validate_request(ToComplete, request)
        answer = await self.endpoint.post("/chat/completions", json=_make_chat(self.model, asked))
        value = _read_value(answer)
        if asked.exact and (where := find_mismatch(value, asked.schema_)):
            raise DocmillError("SERVICE_FAILED", f"the answer is not as asked for: {where}")
        return {"value": value, "model": self.model, "usage": _read_usage(answer)}


RequestModel = TypeVar("RequestModel", ToEmbed, ToComplete)


def _validate_request(shape: type[RequestModel], request: Any) -> RequestModel:
    try:
        return shape.model_validate(request)
    except ValidationError as exc:
        where = ".".join(str(part) for part in exc.errors()[0]["loc"])
        raise DocmillError("SERVICE_REFUSED", f"a wrong question: {where}") from exc


def _read_vectors(answer: Any, count: int) -> list[list[float]]:
    """In the order of the texts, whatever order they came in."""
    try:
        found = {item.index: item.embedding for item in _Embeddings.model_validate(answer).data}
        vectors = [found[place] for place in range(count)]
    except (ValidationError, KeyError) as exc:
        raise DocmillError("SERVICE_FAILED", "not one vector for each text") from exc
    if len({len(vector) for vector in vectors}) != 1:
        raise DocmillError("SERVICE_FAILED", "the vectors are not of one length")
    return vectors


def _make_chat(model: str, asked: ToComplete) -> dict[str, Any]:
    named = {"name": asked.name, "schema": asked.schema_, "strict": True}
    return {
        "model": model,
        "messages": [
            {"role": "system", "content": asked.system},
            {"role": "user", "content": asked.prompt},
        ],
        "response_format": {"type": "json_schema", "json_schema": named},
        "temperature": 0,
    }


def _read_value(answer: Any) -> dict[str, Any]:
    try:
        choice = _Chat.model_validate(answer).choices[0]
    except ValidationError as exc:
        raise DocmillError("SERVICE_FAILED", "the answer holds no message") from exc
    if choice.message.refusal or choice.finish_reason in {"length", "content_filter"}:
        raise DocmillError("SERVICE_REFUSED", f"no whole answer: {choice.finish_reason}")
    content = choice.message.content or ""
    if len(content) > MOST_CHARS:
        raise DocmillError("SERVICE_REFUSED", f"the answer has {len(content)} characters")
    try:
        return parse_object(content)
    except (ValueError, RecursionError) as exc:
        raise DocmillError("SERVICE_FAILED", "the message is not a JSON object") from exc


def _read_usage(answer: Any) -> dict[str, int]:
    """How many tokens it took, as far as the service tells; nonsense counts for nothing."""
    try:
        return _Counted.model_validate(answer).usage.model_dump(exclude_none=True)
    except ValidationError:
        return {}
