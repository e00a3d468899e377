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
            summary="Calibrate confidence with what your people approved and changed.",
        ),
        Command(
            name="settings",
            target="docmill.owners.commands:app",
            summary="Your settings: company details, exchange rates, defaults.",
        ),
    ),
)
