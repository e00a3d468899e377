"""What owners do with their webhooks; API and page call the same functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from docmill.core import owners
from docmill.core.faults import DocmillError
from docmill.core.owners import Owner, OwnerKey, may_see
from docmill.core.texts import clean_text
from docmill.db import wall
from docmill.db.pool import Connection, read_connection, write
from docmill.queue.enqueue import ensure_owner
from docmill.services.outbound import check_url, read_rules
from docmill.web.params import Cursor
from docmill.web.site import Site
from docmill.webhooks import queries, signing
from docmill.webhooks.queries import (
    Delivery,
    DeliveryAttempt,
    DeliveryId,
    DeliveryStatus,
    NewWebhook,
    Webhook,
    WebhookId,
)

ALLOW_SETTING = "DOCMILL_WEBHOOK_ALLOW"


@dataclass(frozen=True, slots=True)
class LoggedDelivery:
    delivery: Delivery
    attempts: list[DeliveryAttempt]


async def create(
    site: Site, owner: Owner, url: str, *, events: Sequence[str], desk: str | None = None
) -> tuple[Webhook, str]:
    """The webhook and its secret, which nobody is told again."""
    source = owners.desk(desk).key if desk else owner.key
    if not may_see(owner, source):
        raise DocmillError("FORBIDDEN", desk=clean_text(desk or "")[:64])
    await check_url(url, read_rules(ALLOW_SETTING, site.config.webhook_allow))
    secret = signing.make_secret()
    new = NewWebhook(owner.key, source, url, sorted(set(events)), secret)

    async def add(conn: Connection) -> Webhook:
        await ensure_owner(conn, owner.key)
        added = await queries.add_webhook(conn, new)
        if added is None:
            raise DocmillError("TOO_MANY_WEBHOOKS", most=queries.MOST_WEBHOOKS)
        return added

    return await write(site.pool, add), secret


async def require(conn: Connection, owner: Owner, webhook_id: str) -> Webhook:
    """The webhook, if there is one and it is the asker's."""
    try:
        found = await queries.find_webhook(conn, UUID(webhook_id))
        if found is None and await wall.is_known(conn, "webhooks", UUID(webhook_id)):
            raise DocmillError("FORBIDDEN", webhookId=webhook_id)
    except ValueError:
        found = None
    if found is None:
        raise DocmillError("WEBHOOK_NOT_FOUND", webhookId=clean_text(webhook_id)[:64])
    if found.owner != owner.key:
        raise DocmillError("FORBIDDEN", webhookId=str(found.id))
    return found


async def list_own(site: Site, owner: OwnerKey) -> list[Webhook]:
    async with read_connection(site.pool) as conn:
        return await queries.list_webhooks(conn, owner)


async def find(site: Site, owner: Owner, webhook_id: str) -> Webhook:
    async with read_connection(site.pool) as conn:
        return await require(conn, owner, webhook_id)


async def delete(site: Site, owner: Owner, webhook_id: str) -> WebhookId:
    async def act(conn: Connection) -> WebhookId:
        known = await require(conn, owner, webhook_id)
        await queries.delete_webhook(conn, known.id)
        return known.id

    return await write(site.pool, act)


async def rotate(site: Site, owner: Owner, webhook_id: str) -> tuple[Webhook, str]:
    secret = signing.make_secret()

    async def act(conn: Connection) -> Webhook:
        known = await require(conn, owner, webhook_id)
        await queries.rotate_secret(conn, known.id, secret)
        return await require(conn, owner, webhook_id)

    return await write(site.pool, act), secret


async def enable(site: Site, owner: Owner, webhook_id: str) -> Webhook:
    async def act(conn: Connection) -> Webhook:
        known = await require(conn, owner, webhook_id)
        await queries.enable_webhook(conn, known.id)
        return await require(conn, owner, webhook_id)

    return await write(site.pool, act)


async def list_log(
    site: Site,
    webhook: Webhook,
    *,
    status: DeliveryStatus | None = None,
    after: Cursor | None = None,
    limit: int = 50,
) -> list[LoggedDelivery]:
    async with read_connection(site.pool) as conn:
        found = await queries.list_deliveries(
            conn, webhook.id, status=status, after=after, limit=limit
        )
        attempts = await queries.list_attempts(conn, [one.id for one in found])
    return [LoggedDelivery(one, attempts[one.id]) for one in found]


async def replay(site: Site, owner: Owner, webhook_id: str, delivery_id: str) -> int:
    """One delivery again; 0 where it waits to be delivered anyway."""
    try:
        wanted = DeliveryId(UUID(delivery_id))
    except ValueError:
        wanted = DeliveryId(UUID(int=0))

    async def act(conn: Connection) -> int:
        known = await require(conn, owner, webhook_id)
        if not await queries.delivery_exists(conn, known.id, wanted):
            raise DocmillError("DELIVERY_NOT_FOUND", deliveryId=clean_text(delivery_id)[:64])
        return int(await queries.replay_one(conn, known.id, wanted))

    replayed = await write(site.pool, act)
    site.changes.ring()
    return replayed


async def replay_since(
    site: Site, owner: Owner, webhook_id: str, since: datetime, *, missed: bool
) -> int:
    async def act(conn: Connection) -> int:
        known = await require(conn, owner, webhook_id)
        return await queries.replay_since(conn, known.id, since, missed=missed)

    replayed = await write(site.pool, act)
    site.changes.ring()
    return replayed
