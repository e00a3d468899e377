"""The page at /docs: every route from the OpenAPI document, every fault from the table."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from docmill.core.faults import TABLE
from docmill.web.pages import render

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def docs_page(request: Request) -> Response:
    document = request.app.openapi()
    routes = [
        {"method": method.upper(), "path": path, **operation}
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    return render.page(
        "docs.html", version=document["info"]["version"], routes=routes, faults=TABLE
    )
