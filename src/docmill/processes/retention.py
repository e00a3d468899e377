"""docmill sweep and docmill events: retention by hand. For operators: past the server."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.filesize import decimal

from docmill import app as docmill_app
from docmill.cli.console import say, say_json
from docmill.cli.options import AsJson, Data
from docmill.cli.tables import print_rows
from docmill.db import audit
from docmill.db.audit import AuditedAction
from docmill.jobs import retention, sweep
from docmill.jobs.event_archive import RestoreReport, WantedEvents, restore_events
from docmill.jobs.sweep import PreviewLine
from docmill.processes.database import find_database
from docmill.processes.receipts import name_operator
from docmill.queue import leases
from docmill.queue.rescue import Upkeep
from docmill.settings import Settings, read_settings

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show what would go, by kind and pipeline.")
]
Moment = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])]

events_app = typer.Typer(
    name="events",
    help="The history of jobs: bring back archived events.",
    no_args_is_help=True,
    add_completion=False,
)


def run_sweep(dry_run: DryRun = False, as_json: AsJson = False, data: Data = None) -> None:
    """Apply retention now: delete what has expired, archive old events, remove orphans.

    Workers do this every day. You can stop it at any moment and start it again.

    docmill sweep --dry-run
    """
    settings = read_settings(data=data)
    if dry_run:
        found = asyncio.run(_preview(settings))
        _print_preview(found, as_json=as_json)
        return
    took = asyncio.run(_sweep(settings))
    if as_json:
        say_json(took)
        return
    say(f"{took['uploads']} uploads ({decimal(took['upload_bytes'])}) deleted.")
    say(f"{took['results']} results ({decimal(took['result_bytes'])}) deleted.")
    say(f"{took['events']} events archived, {took['orphans']} orphans removed.")


@asynccontextmanager
async def _open_upkeep(settings: Settings) -> AsyncGenerator[Upkeep]:
    async with docmill_app.open_app(settings, find_database(settings)) as services:
        rules = docmill_app.worker_config(settings, sorted(services.catalog.accepts))
        yield docmill_app.upkeep_config(settings, services, rules, leases.identify())


async def _preview(settings: Settings) -> dict[str, Any]:
    async with _open_upkeep(settings) as upkeep:
        assert upkeep.retention
        pressed = await retention.is_pressed(upkeep.retention, upkeep.store)
        async with upkeep.pool.connection() as conn:
            lines = await sweep.preview(
                conn, upkeep.retention, pressed=pressed, keep_events=upkeep.keep_events
            )
    return {"pressed": pressed, "lines": lines}


def _print_preview(found: dict[str, Any], *, as_json: bool) -> None:
    lines: Sequence[PreviewLine] = found["lines"]
    if as_json:
        say_json({**found, "lines": [asdict(one) for one in lines]})
        return
    if found["pressed"]:
        say("The disk is too full: shorter periods hold.")
    if not lines:
        say("Nothing is past its time.")
        return
    rows = [
        [one.kind, one.pipeline or "-", one.count, decimal(one.bytes), f"{one.oldest_days:.1f} d"]
        for one in lines
    ]
    print_rows(["kind", "pipeline", "count", "bytes", "oldest"], rows)


async def _sweep(settings: Settings) -> dict[str, Any]:
    async with _open_upkeep(settings) as upkeep:
        number = await retention.begin_sweep(upkeep.pool, name_operator())
        done = AuditedAction(name_operator(), "retention.sweep", f"sweep:{number}")
        async with upkeep.pool.connection() as conn:
            await audit.record(conn, done)
        return {"sweep": number, **asdict(await retention.sweep(upkeep, number))}


@events_app.callback()
def choose() -> None:
    """One command so far; its name is said all the same."""


@events_app.command("restore")
def restore(
    job: Annotated[UUID | None, typer.Option(help="Only those of this job.")] = None,
    since: Moment = None,
    until: Moment = None,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Bring archived events back into the history of their jobs, for a week.

    docmill events restore --since 2026-01-01 --until 2026-02-01
    """
    if since and until and until <= since:
        raise typer.BadParameter("must be later than --since.", param_hint="--until")
    wanted = WantedEvents(str(job) if job else None, _as_utc(since), _as_utc(until))
    report = asyncio.run(_restore(read_settings(data=data), wanted))
    if as_json:
        say_json(asdict(report))
        return
    say(f"{report.restored} events restored from {report.archives} archives.")
    if report.known:
        say(f"{report.known} were there already, or their job is gone.")


def _as_utc(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(tzinfo=UTC)


async def _restore(settings: Settings, wanted: WantedEvents) -> RestoreReport:
    async with _open_upkeep(settings) as upkeep:
        report = await restore_events(upkeep.pool, upkeep.store, wanted)
        done = AuditedAction(name_operator(), "events.restore", f"job:{wanted.job_id or 'all'}")
        async with upkeep.pool.connection() as conn:
            await audit.record(conn, done, after=asdict(report))
    return report
