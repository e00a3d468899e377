"""The room `webhooks`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, MenuEntry, Room

room: Final = Room(
    name="webhooks",
    package="docmill.webhooks",
    routers=("docmill.webhooks.api:router", "docmill.webhooks.pages:router"),
    menu=(MenuEntry("webhooks", "/webhooks", "Webhooks", position=95),),
    commands=(
        Command(
            name="webhooks",
            target="docmill.webhooks.commands:app",
            summary="Signed requests to your server when something happens to your documents.",
        ),
    ),
)
