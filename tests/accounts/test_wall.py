"""With the owner checks in code taken out, PostgreSQL still tells nobody what is another's."""

import pytest

from accounts.test_keys import as_user
from accounts.test_matrix import (
    CANARY,
    MOST_SEEN,
    NAMED,
    OWN,
    STREAMS,
    ask,
    make_victim,
    read_state,
    read_stream,
    site,
    split,
)
from docmill.core import owners
from docmill.core.owners import Owner
from docmill.db import pool as pools
from docmill.db.pool import Pool
from docmill.web.auth import Authenticator
from sites import Site

pytestmark = pytest.mark.anyio
__all__ = ["site"]


async def test_with_the_first_wall_taken_out_nothing_leaks(
    site: Site, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        site.client(headers=as_user("ann")) as ann,
        site.client(headers=as_user("bob")) as bob,
    ):
        victim = await make_victim(site, ann, pool)
        before = await read_state(pool, victim.owner)
        identify = Authenticator.identify_by

        async def mistake_for_ann(self: Authenticator, token: str | None, request: object) -> Owner:
            """All checks in code look at Ann; who asks is Bob."""
            await identify(self, token, request)  # pyright: ignore[reportArgumentType]
            return owners.user("ann")

        monkeypatch.setattr(Authenticator, "identify_by", mistake_for_ann)
        # What PostgreSQL refuses is tried again, as after an operator's REVOKE: here at once.
        monkeypatch.setattr(pools, "FIRST_WAIT", 0.01)
        routes = sorted(split(NAMED) | split(OWN))
        for route in routes:
            answer = await ask(bob, route, victim)
            assert CANARY not in answer.text, route
        for route in split(STREAMS):
            assert CANARY.encode() not in await read_stream(bob, route, b"retry:"), route
        assert await read_state(pool, victim.owner) == before
        # The same walk without the second wall finds what there is, so it can fail.
        monkeypatch.setattr(pool, "_gap", "taken out")
        seen = [
            route
            for route in routes
            if route.startswith("GET") and CANARY in (await ask(bob, route, victim)).text
        ]
        assert len(seen) >= MOST_SEEN - 5, seen
