"""The room `trades`: what docmill is to know of it."""

from typing import Final

from docmill.core.plugins import Command, JobLink, MenuEntry, Room, Table

room: Final = Room(
    name="trades",
    pipeline="trades",
    noun="trade note",
    package="docmill.trades",
    titles={"trades": "Trade note"},
    show="docmill.trades.show:show_trades",
    waiting="docmill.trades.reviews:find_waiting",
    judge="docmill.trades.scoring:judge_trades",
    outline="docmill.trades.history:outline_trades",
    approved="docmill.trades.history:list_approved",
    reviewed="docmill.trades.reviews:tell_review",
    tables=(
        Table(
            rows="trades",
            write="docmill.trades.queries:write_trades",
            exist="docmill.trades.queries:trades_exist",
        ),
    ),
    routers=(
        "docmill.trades.api:router",
        "docmill.trades.api:documents_router",
        "docmill.trades.review_api:router",
        "docmill.trades.review_pages:router",
        "docmill.trades.pages:router",
    ),
    job_links=(JobLink("Review", "check", "/trades/jobs/{id}"),),
    menu=(MenuEntry("trades", "/trades", "Trades", position=10),),
    commands=(
        Command(
            name="trades",
            target="docmill.trades.commands:app",
            summary="Trades read from broker notes.",
        ),
    ),
    settings=("review_threshold", "error_rate", "trades_reader"),
    run_options="docmill.trades.touchless:read_run_options",
    upkeep="docmill.trades.touchless:calibrate_all",
)
