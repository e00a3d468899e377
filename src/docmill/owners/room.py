"""The room `owners`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, MenuEntry, Room

room: Final = Room(
    name="owners",
    package="docmill.owners",
    routers=("docmill.owners.api:router", "docmill.owners.pages:router"),
    menu=(MenuEntry("settings", "/settings", "Settings", position=90),),
    commands=(
        Command(
            name="calibrate",
            target="docmill.owners.commands:calibrate",
            summary="Fit confidence to what your people approved and changed, in invoices and in "
            "trades.",
        ),
        Command(
            name="settings",
            target="docmill.owners.commands:app",
            summary="What you have set: identity, exchange rates, defaults.",
        ),
    ),
)
