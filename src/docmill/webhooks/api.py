"""/api/webhooks: who is told, what was delivered, and delivering it again."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from docmill.services.outbound import LONGEST_URL
from docmill.web import json_body, params, problems
from docmill.web.params import CursorText, Instant, Moment
from docmill.web.site import CurrentOwner, CurrentSite
from docmill.webhooks import manage, signing
from docmill.webhooks.fields import KINDS, NAMES, EventName
from docmill.webhooks.manage import LoggedDelivery
from docmill.webhooks.queries import Webhook

router = APIRouter(prefix="/api/webhooks", tags=["webhooks"])

BASIC_FAULTS: Final = ("UNAUTHORIZED", "DATABASE_DOWN", "BUSY")
FIND_FAULTS: Final = (*BASIC_FAULTS, "FORBIDDEN", "WEBHOOK_NOT_FOUND")
CHANGE_FAULTS: Final = (*FIND_FAULTS, "CROSS_SITE")
EXAMPLE_URL: Final = "https://hooks.example/docmill"


class WebhookRequest(BaseModel):
    """Where to be told, and what of."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=LONGEST_URL, examples=[EXAMPLE_URL])
    events: list[EventName] = Field(
        default_factory=lambda: [*NAMES], min_length=1, description="All, if you name none"
    )
    desk: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="Instead of your own documents those of a desk that is open to you",
    )


class ReplayRequest(BaseModel):
    """What to deliver again."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    since: Moment = Field(examples=["2026-01-31T12:00:00Z"])
    missed: bool = Field(False, description="Only what did not get through")


class WebhookShape(BaseModel):
    id: str
    url: str = Field(examples=[EXAMPLE_URL])
    events: list[str] = Field(examples=[["job.complete"]])
    desk: str | None = Field(description="The desk whose documents it is told of; null: yours")
    enabled: bool
    created_at: Instant
    disabled_at: Instant | None
    disabled_because: str | None = Field(
        description="`gone`: it answered 410. `failing`: nothing got through for three days"
    )
    failing_from: Instant | None = Field(description="Since when every delivery fails")
    delivered_at: Instant | None = Field(description="When something got through, to a minute")
    old_secret_until: Instant | None = Field(description="How long the secret before signs too")


class WebhookWithSecret(WebhookShape):
    secret: str = Field(description="Signs every delivery. It is not told again")


class WebhookList(BaseModel):
    webhooks: list[WebhookShape]


class DeliveryAttemptShape(BaseModel):
    at: Instant
    outcome: str = Field(examples=["delivered"])
    status: int | None = Field(description="Of the answer; null where none came")
    duration_ms: int
    answer: str = Field(description="Its first bytes")
    error: str


class DeliveryShape(BaseModel):
    id: str
    message_id: str = Field(description="The header `webhook-id`, the same with every try")
    event: str = Field(examples=["job.complete"])
    status: str = Field(examples=["delivered"])
    tries: int
    created_at: Instant
    due_at: Instant | None = Field(description="When it is tried next; null when it has ended")
    ended_at: Instant | None
    data: dict[str, Any]
    attempts: list[DeliveryAttemptShape]


class DeliveryList(BaseModel):
    deliveries: list[DeliveryShape]
    next_cursor: str | None = Field(description="For the next page; null on the last one")


class DeletedWebhook(BaseModel):
    deleted: str = Field(description="Its id")


class Replayed(BaseModel):
    replayed: int


def shape_webhook(one: Webhook) -> WebhookShape:
    desk = one.source.removeprefix("desk:")
    return WebhookShape(
        id=str(one.id),
        url=one.url,
        events=one.events,
        desk=desk if desk != one.source else None,
        enabled=one.disabled_at is None,
        created_at=one.created_at,
        disabled_at=one.disabled_at,
        disabled_because=one.disabled_because,
        failing_from=one.failing_from,
        delivered_at=one.delivered_at,
        old_secret_until=one.old_secret_until,
    )


def shape_delivery(one: LoggedDelivery) -> DeliveryShape:
    delivery = one.delivery
    return DeliveryShape(
        id=str(delivery.id),
        message_id=signing.name_message(delivery.event_id),
        event=delivery.kind,
        status=delivery.status,
        tries=delivery.tries,
        created_at=delivery.created_at,
        due_at=delivery.due_at if delivery.status == "pending" else None,
        ended_at=delivery.ended_at,
        data=delivery.data,
        attempts=[
            DeliveryAttemptShape(
                at=each.at,
                outcome=each.outcome,
                status=each.status,
                duration_ms=each.duration_ms,
                answer=each.answer,
                error=each.error,
            )
            for each in one.attempts
        ],
    )


KINDS_TOLD: Final = " ".join(f"`{kind.name}`: {kind.says}" for kind in KINDS)


@router.post(
    "",
    summary="Be told what happens to your documents",
    description=f"{KINDS_TOLD} Requests are signed as Standard Webhooks has it.",
    status_code=201,
    openapi_extra=json_body.describe_body(WebhookRequest.model_json_schema()),
    responses=problems.fault_responses(
        *BASIC_FAULTS, "BAD_REQUEST", "CROSS_SITE", "FORBIDDEN", "URL_REFUSED", "TOO_MANY_WEBHOOKS"
    ),
)
async def create_webhook(
    request: Request, site: CurrentSite, owner: CurrentOwner
) -> WebhookWithSecret:
    wish = await json_body.read_json(request, WebhookRequest)
    made, secret = await manage.create(site, owner, wish.url, events=wish.events, desk=wish.desk)
    return WebhookWithSecret(**dict(shape_webhook(made)), secret=secret)


@router.get("", summary="Your webhooks", responses=problems.fault_responses(*BASIC_FAULTS))
async def list_webhooks(site: CurrentSite, owner: CurrentOwner) -> WebhookList:
    found = await manage.list_own(site, owner.key)
    return WebhookList(webhooks=[shape_webhook(one) for one in found])


@router.get(
    "/{webhook_id}", summary="One webhook", responses=problems.fault_responses(*FIND_FAULTS)
)
async def show_webhook(webhook_id: str, site: CurrentSite, owner: CurrentOwner) -> WebhookShape:
    return shape_webhook(await manage.find(site, owner, webhook_id))


@router.delete(
    "/{webhook_id}",
    summary="Delete a webhook and its log; what was not delivered is not delivered any more",
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def delete_webhook(webhook_id: str, site: CurrentSite, owner: CurrentOwner) -> DeletedWebhook:
    return DeletedWebhook(deleted=str(await manage.delete(site, owner, webhook_id)))


@router.post(
    "/{webhook_id}/rotate",
    summary="A new secret; the one before signs too for 24 hours",
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def rotate_secret(
    webhook_id: str, site: CurrentSite, owner: CurrentOwner
) -> WebhookWithSecret:
    changed, secret = await manage.rotate(site, owner, webhook_id)
    return WebhookWithSecret(**dict(shape_webhook(changed)), secret=secret)


@router.post(
    "/{webhook_id}/enable",
    summary="Turn on a webhook that was disabled; `replay` delivers what it missed",
    responses=problems.fault_responses(*CHANGE_FAULTS),
)
async def enable_webhook(webhook_id: str, site: CurrentSite, owner: CurrentOwner) -> WebhookShape:
    return shape_webhook(await manage.enable(site, owner, webhook_id))


@router.get(
    "/{webhook_id}/deliveries",
    summary="What was delivered in the last 30 days, newest first, with every try",
    responses=problems.fault_responses(*FIND_FAULTS, "BAD_REQUEST"),
)
async def list_deliveries(
    webhook_id: str,
    site: CurrentSite,
    owner: CurrentOwner,
    status: Annotated[Literal["pending", "delivered", "failed"] | None, Query()] = None,
    cursor: CursorText = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeliveryList:
    after = params.parse_cursor(cursor) if cursor else None
    known = await manage.find(site, owner, webhook_id)
    found = await manage.list_log(site, known, status=status, after=after, limit=limit + 1)
    page, last = params.cut_page(found, limit, place_of)
    return DeliveryList(deliveries=[shape_delivery(one) for one in page], next_cursor=last)


def place_of(one: LoggedDelivery) -> params.Cursor:
    return params.Cursor(one.delivery.created_at, one.delivery.id)


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/replay",
    summary="Deliver one again, with the same id",
    responses=problems.fault_responses(*CHANGE_FAULTS, "DELIVERY_NOT_FOUND"),
)
async def replay_delivery(
    webhook_id: str, delivery_id: str, site: CurrentSite, owner: CurrentOwner
) -> Replayed:
    """`replayed` is 0 where it waits to be delivered anyway."""
    return Replayed(replayed=await manage.replay(site, owner, webhook_id, delivery_id))


def _replay_schema() -> dict[str, Any]:
    schema: dict[str, Any] = ReplayRequest.model_json_schema()
    schema["properties"]["since"] = {
        "type": "string",
        "format": "date-time",
        "examples": ["2026-01-31T12:00:00Z"],
    }
    return schema


@router.post(
    "/{webhook_id}/replay",
    summary="Deliver again what happened since a time",
    openapi_extra=json_body.describe_body(_replay_schema()),
    responses=problems.fault_responses(*CHANGE_FAULTS, "BAD_REQUEST"),
)
async def replay_deliveries(
    webhook_id: str, request: Request, site: CurrentSite, owner: CurrentOwner
) -> Replayed:
    wish = await json_body.read_json(request, ReplayRequest)
    since: datetime = wish.since
    count = await manage.replay_since(site, owner, webhook_id, since, missed=wish.missed)
    return Replayed(replayed=count)
