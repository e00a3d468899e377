"""Pages of other origins that may call the API: those an operator names, and no other."""

from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE"
# What a page may send besides the headers that every form can.
SENT: Final = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Prefer"
# What its script may read besides the usual ones.
READ: Final = (
    "Content-Disposition, ETag, Preference-Applied, RateLimit-Limit, RateLimit-Remaining, "
    "RateLimit-Reset, Retry-After, X-Request-ID"
)
# How long a browser need not ask again; Chromium listens to two hours at most.
PREFLIGHT_SECONDS: Final = 7200


class Origins:
    """The other origins whose pages may call the API, as browsers write them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names: frozenset[str] = frozenset(names)
        self.any: bool = bool(names)

    def allow(self, headers: Headers) -> bool:
        return self.any and headers.get("origin", "") in self._names

    def answer_preflight(self, method: str, headers: Headers) -> Response | None:
        """What a browser is told before it sends for such a page; None where it does not ask."""
        if method != "OPTIONS" or "access-control-request-method" not in headers:
            return None
        if not self.allow(headers):
            return None
        return Response(
            status_code=204,
            headers={
                "access-control-allow-methods": METHODS,
                "access-control-allow-headers": SENT,
                "access-control-max-age": str(PREFLIGHT_SECONDS),
            },
        )

    def dress(self, asked: Headers, answer: MutableHeaders) -> None:
        """Let the page read the answer. Its cookie counts: who names an origin trusts its pages."""
        if not self.any or "access-control-allow-origin" in answer:
            return
        answer.add_vary_header("Origin")
        if self.allow(asked):
            answer["access-control-allow-origin"] = asked["origin"]
            answer["access-control-allow-credentials"] = "true"
            answer["access-control-expose-headers"] = READ
            answer["cross-origin-resource-policy"] = "cross-origin"
