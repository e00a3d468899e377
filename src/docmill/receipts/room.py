"""The room `receipts`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, Room

room: Final = Room(
    name="receipts",
    routers=("docmill.receipts.api:router",),
    commands=(
        Command(
            name="receipt",
            target="docmill.receipts.commands:write_receipt",
            summary="Print the receipt of a job's result, or write it to a file.",
        ),
    ),
)
