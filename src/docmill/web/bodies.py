"""JSON that is sent to us: read up to a limit, and checked against its model."""

from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from docmill.core.faults import Faulted
from docmill.web.asking import refuse

# FastAPI would read a body of any size into memory before a route is asked.
LARGEST: Final = 1 << 18

Model = TypeVar("Model", bound=BaseModel)


async def read(request: Request, model: type[Model]) -> Model:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise refuse("body", f"larger than {LARGEST} bytes")
    try:
        return model.model_validate_json(bytes(body))
    except ValidationError as exc:
        raise Faulted("BAD_REQUEST", mistakes=[_mistake(error) for error in exc.errors()]) from exc


def _mistake(error: Any) -> dict[str, str]:
    """Which value and why, not what was sent."""
    return {"at": ".".join(("body", *map(str, error["loc"]))), "message": error["msg"]}


# Where the OpenAPI document has the models that others hold.
INSIDE: Final = "#/components/schemas/{model}"


def documented(schema: dict[str, Any]) -> dict[str, Any]:
    """The `openapi_extra` of a route that reads such a body itself.

    Models inside it are known to the OpenAPI document by their names; `INSIDE` says where.
    """
    schema = {name: part for name, part in schema.items() if name != "$defs"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
