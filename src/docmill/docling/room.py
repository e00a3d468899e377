"""The room `docling`: docling-serve's routes, for its clients; there is no pipeline of its own."""

from typing import Final

from docmill.core.plugins import Room

room: Final = Room(
    name="docling",
    package="docmill.docling",
    enabled_by="docling",
    routers=("docmill.docling.api:router",),
)
