"""The room `invoices`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, JobLink, MenuEntry, Room, Table

room: Final = Room(
    name="invoices",
    pipeline="invoice",
    package="docmill.invoices",
    titles={
        "invoice": "Invoice",
        "pt_simon_invoice_v1": "Coretax e-Faktur (Indonesia)",
        "ubl_invoice_v1": "UBL 2.1",
        "cii_invoice_v1": "CII (Factur-X)",
    },
    show="docmill.invoices.show:show_invoice",
    tables=(
        Table(
            rows="reviews",
            write="docmill.invoices.queries:record_doubts",
            exist="docmill.invoices.queries:doubts_exist",
        ),
    ),
    validator="docmill.invoices.validator:validator",
    confined_runs=("docmill.invoices.reader.lessons:teacher",),
    routers=(
        "docmill.invoices.exports:router",
        "docmill.invoices.api:reviews_router",
        "docmill.invoices.api:lessons_router",
        "docmill.invoices.api:profile_router",
        "docmill.invoices.pages:router",
    ),
    run_options="docmill.invoices.queries:read_run_options",
    job_links=(JobLink("Review", "check", "/review/{id}", mapped=True),),
    menu=(MenuEntry("review", "/review", "Review", position=20),),
    commands=(
        Command(
            name="review",
            target="docmill.invoices.commands:review_app",
            summary="Check and approve what was read.",
        ),
        Command(
            name="lessons",
            target="docmill.invoices.commands:lessons_app",
            summary="What docmill learned from your corrections.",
        ),
        Command(
            name="profile",
            target="docmill.invoices.mapping_commands:profile_app",
            summary="The seller's identity and defaults.",
        ),
        Command(
            name="mapping",
            target="docmill.invoices.mapping_commands:mapping_app",
            summary="Which XML an invoice becomes.",
        ),
    ),
)
