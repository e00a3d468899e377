"""The room `admin`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, MenuEntry, Room

room: Final = Room(
    name="admin",
    package="docmill.admin",
    routers=(
        "docmill.admin.api:router",
        "docmill.admin.upkeep_api:router",
        "docmill.admin.pages:router",
    ),
    upkeep="docmill.admin.cost:sum_daily",
    menu=(MenuEntry("admin", "/admin", "Admin", position=97, admin=True),),
    commands=(
        Command(
            name="admin",
            target="docmill.admin.commands:app",
            summary="Everybody's work at a glance, and what to do about it.",
        ),
        Command(
            name="audit",
            target="docmill.admin.commands:audit_app",
            summary="Who did what: list the audit log, or verify that nobody changed it.",
        ),
    ),
)
