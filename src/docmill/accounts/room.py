"""The room `accounts`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, Room

room: Final = Room(
    name="accounts",
    package="docmill.accounts",
    routers=("docmill.accounts.api:router", "docmill.accounts.pages:router"),
    commands=(
        Command(
            name="keys",
            target="docmill.accounts.commands:app",
            summary="Keys for programs: create, list and revoke them.",
        ),
    ),
)
