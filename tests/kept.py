"""What is the same for all sites of a test process, and is made once instead of for each of them.

FastAPI looks at every endpoint's signature again for each application that includes its router, and
HTTPX reads all certificates of authorities for each client.
"""

from functools import cache
from typing import Any

import httpcore2
from fastapi import routing
from fastapi.routing import APIRoute

Included = routing._EffectiveRouteContext  # pyright: ignore[reportPrivateUsage]
include = Included.from_api_route
_INCLUDED: dict[tuple[object, ...], Included] = {}


def include_once(*, original_route: APIRoute, include_context: Any) -> Included:
    """A route as one application includes it is what all others do that include it so."""
    given = [each.dependency for each in include_context.dependencies]
    key = (id(original_route), include_context.prefix, include_context.include_in_schema, *given)
    if key not in _INCLUDED:  # which holds the route, so that its id stays its own
        _INCLUDED[key] = include(original_route=original_route, include_context=include_context)
    return _INCLUDED[key]


def keep() -> None:
    Included.from_api_route = include_once
    httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)
