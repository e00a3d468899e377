"""JSON that is sent to us: read up to a limit, and checked against its model."""

import re
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError
from starlette.requests import Request

from docmill.core.faults import DocmillError
from docmill.web.params import NOT_STORABLE, bad_param

# FastAPI would read a body of any size into memory before a route is asked.
LARGEST: Final = 1 << 20

# No database takes it. Half characters and a bare NUL are no JSON and are refused as such.
ESCAPED_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def whole_number(value: object) -> object:
    """JSON has one kind of number: 5.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[int, BeforeValidator(whole_number)]
Model = TypeVar("Model", bound=BaseModel)


async def read_json(request: Request, model: type[Model]) -> Model:
    body = await read_limited(request)
    if ESCAPED_NUL.search(body):
        raise bad_param("body", NOT_STORABLE)
    try:
        return model.model_validate_json(body, strict=True)
    except ValidationError as exc:
        raise DocmillError(
            "BAD_REQUEST", mistakes=[_describe_error(error) for error in exc.errors()]
        ) from exc


async def read_limited(request: Request) -> bytes:
    """What is too large by its own word is not read at all."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > LARGEST:
        raise DocmillError("TOO_LARGE", "by its Content-Length", maxSize=LARGEST)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise DocmillError("TOO_LARGE", maxSize=LARGEST)
    return bytes(body)


def _describe_error(error: Any) -> dict[str, str]:
    """Which value and why, not what was sent."""
    return {"at": ".".join(("body", *map(str, error["loc"]))), "message": error["msg"]}


# Where the OpenAPI document has the models that others hold.
SCHEMA_REF: Final = "#/components/schemas/{model}"


def describe_body(schema: dict[str, Any]) -> dict[str, Any]:
    """The `openapi_extra` of a route that reads such a body itself.

    The OpenAPI document takes the models inside it out of `$defs`; `INSIDE` says where to.
    """
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
