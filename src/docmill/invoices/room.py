"""The room `invoices`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, Format, JobAction, JobLink, MenuEntry, Room, Table

REFUSED: Final = frozenset({"GW_4XX"})

room: Final = Room(
    name="invoices",
    pipeline="invoice",
    package="docmill.invoices",
    titles={
        "invoice": "Invoice",
        "auto": "Automatic",
        "pt_simon_invoice_v1": "Coretax e-Faktur (Indonesia)",
        "ubl_invoice_v1": "UBL 2.1",
        "cii_invoice_v1": "CII (Factur-X)",
    },
    show="docmill.invoices.show:show_invoice",
    judge="docmill.invoices.scoring:judge_invoice",
    outline="docmill.invoices.history:outline_invoice",
    approved="docmill.invoices.history:list_approved",
    reviewed="docmill.invoices.queries:tell_review",
    upkeep="docmill.invoices.touchless:calibrate_all",
    noun="invoice",
    formats=(
        Format(
            name="coretax",
            label="Coretax e-Faktur (Indonesia)",
            content_type="application/xml",
            ending=".coretax.xml",
            make="docmill.invoices.downloads:make_coretax",
            check="docmill.invoices.downloads:check_coretax",
        ),
        Format(
            name="ubl",
            label="UBL 2.1",
            content_type="application/xml",
            ending=".ubl.xml",
            make="docmill.invoices.downloads:make_ubl",
            check="docmill.invoices.downloads:check_ubl",
        ),
        Format(
            name="cii",
            label="CII (Factur-X)",
            content_type="application/xml",
            ending=".cii.xml",
            make="docmill.invoices.downloads:make_cii",
            check="docmill.invoices.downloads:check_cii",
        ),
        Format(
            name="facturx",
            label="PDF with XML inside (Factur-X)",
            content_type="application/pdf",
            ending=".facturx.pdf",
            make="docmill.invoices.downloads:make_facturx",
            check="docmill.invoices.downloads:check_facturx",
        ),
        Format(
            name="csv",
            label="CSV",
            content_type="text/csv; charset=utf-8",
            ending=".csv",
            write="docmill.invoices.downloads:write_csv",
        ),
    ),
    job_actions=(
        JobAction(
            name="write_ubl",
            label="Write as UBL",
            address="/api/jobs/{id}/download?format=ubl&draft=true",
            codes=REFUSED,
            reading=True,
            when="docmill.invoices.downloads:is_ubl_another",
        ),
        JobAction(
            name="review",
            label="Open in review",
            address="/review/{id}",
            codes=REFUSED,
            reading=True,
        ),
        JobAction(
            name="set_rate",
            label="Set the rate",
            address="/settings#rates",
            codes=REFUSED,
            when="docmill.invoices.downloads:needs_rate",
        ),
    ),
    tables=(
        Table(
            rows="reviews",
            write="docmill.invoices.touchless:record_doubts",
            exist="docmill.invoices.touchless:doubts_exist",
        ),
    ),
    validator="docmill.invoices.validator:validator",
    confined_runs=(
        "docmill.invoices.reader.teacher:teacher",
        "docmill.invoices.hybrid:writer",
    ),
    routers=(
        "docmill.invoices.exports:router",
        "docmill.invoices.api:reviews_router",
        "docmill.invoices.api:lessons_router",
        "docmill.invoices.profile_api:profile_router",
        "docmill.invoices.mapping_api:router",
        "docmill.invoices.pages:router",
    ),
    settings=("invoice_reader", "error_rate"),
    run_options="docmill.invoices.touchless:read_run_options",
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
            summary="Your company's details and defaults.",
        ),
        Command(
            name="mapping",
            target="docmill.invoices.mapping_commands:mapping_app",
            summary="Which XML an invoice becomes.",
        ),
    ),
)
