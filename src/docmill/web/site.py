"""What every route works with, and who is asking."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import Depends
from starlette.requests import Request

from docmill.cache import Cache
from docmill.core.installed import PipelineCatalog
from docmill.core.owners import Owner
from docmill.core.parts import Parts
from docmill.db.notify import Notifier
from docmill.db.pool import Pool, try_again
from docmill.storage.contract import Store
from docmill.web import auth, render
from docmill.web.config import WebConfig
from docmill.web.limits import RateLimits
from docmill.web.metrics import Metrics
from docmill.web.readiness import Readiness

RoomPart = TypeVar("RoomPart")


@dataclass(frozen=True, slots=True)
class Site:
    """One web application: what it works with, and what an operator decided.

    Rooms add what they keep in memory themselves, and find it again by its class.
    """

    pool: Pool
    store: Store
    cache: Cache
    work: Notifier
    changes: Notifier
    catalog: PipelineCatalog
    parts: Parts
    config: WebConfig
    metrics: Metrics
    auth: auth.Authenticator
    readiness: Readiness
    limits: RateLimits
    # Called once when the server begins to stop.
    closers: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    # Writing a thousand invoices takes seconds of a core, and their memory.
    exporting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    under_way: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])
    _own: list[object] = field(default_factory=list[object])
    _found: dict[type, Any] = field(default_factory=dict[type, Any])

    def add(self, *things: object) -> None:
        self._own.extend(things)

    def find(self, kind: type[RoomPart]) -> RoomPart:
        """What was added of this class; looked for once."""
        found = self._found.get(kind)
        if found is None:
            found = next(thing for thing in self._own if isinstance(thing, kind))
            self._found[kind] = found
        return found

    def close(self) -> None:
        for close in self.closers:
            close()


async def find_site(request: Request) -> Site:
    return request.app.state.site


CurrentSite = Annotated[Site, Depends(find_site)]


async def identify_owner(request: Request) -> Owner:
    site: Site = request.app.state.site
    is_safe = request.method in auth.SAFE
    owner = site.auth.recognize(request.scope)
    if owner is None and is_safe:
        owner = await site.auth.identify(request)
    elif owner is None:  # who sends something is not sent away for a moment's trouble
        owner = await try_again(lambda: site.auth.identify(request))
    request.scope.setdefault("state", {})["owner"] = owner.key
    render.IS_ADMIN.set(owner.admin or owner.watches)
    if site.config.sign_in.issuer:
        person = getattr(request.state, "signed_in", None)
        render.VISITOR.set(render.Visitor(person is not None, person.name if person else ""))
    if is_safe:
        await site.limits.check_read(request, owner)
    return owner


CurrentOwner = Annotated[Owner, Depends(identify_owner)]
