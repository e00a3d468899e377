"""The room `extract`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, Format, MenuEntry, Room, Table

room: Final = Room(
    name="extract",
    pipeline="extract",
    noun="document",
    package="docmill.extract",
    titles={"extract": "Any document"},
    show="docmill.extract.show:show_extract",
    formats=(
        Format(
            name="markdown",
            label="Markdown",
            content_type="text/markdown; charset=utf-8",
            ending=".md",
            write="docmill.extract.formats:write_markdown",
        ),
        Format(
            name="text",
            label="Plain text",
            content_type="text/plain; charset=utf-8",
            ending=".txt",
            write="docmill.extract.formats:write_text",
        ),
    ),
    tables=(
        Table(
            rows="chunks",
            write="docmill.extract.queries:write_chunks",
            exist="docmill.extract.queries:chunks_exist",
        ),
        Table(
            rows="fields",
            write="docmill.extract.queries:write_fields",
            exist="docmill.extract.queries:fields_exist",
        ),
    ),
    routers=("docmill.extract.api:router", "docmill.extract.pages:router"),
    settings=("fields_reader",),
    upkeep="docmill.extract.vectors:keep_graphs",
    menu=(MenuEntry("search", "/search", "Search", position=30),),
    commands=(
        Command(
            name="search",
            target="docmill.extract.commands:search",
            summary="Find passages in your documents, by meaning and by words.",
        ),
    ),
)
