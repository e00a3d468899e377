"""What an administrator does about retention and about other people's services."""

from dataclasses import dataclass
from typing import Any, Final

from psycopg.rows import class_row
from pydantic import BaseModel, Field

from docmill.core.faults import DocmillError
from docmill.core.owners import Owner, OwnerKey
from docmill.core.texts import clean_text
from docmill.db import audit
from docmill.db.audit import AuditedAction
from docmill.db.pool import Connection, read_connection, write
from docmill.jobs import retention, sweep
from docmill.jobs.retention import SweepLine
from docmill.jobs.sweep import PreviewLine
from docmill.queue import enqueue
from docmill.services import breaker
from docmill.web.auth import check_admin, check_watcher
from docmill.web.site import Site

SWEEPS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class OwnRule:
    """An owner's own periods; `pipeline` is empty for all, infinity is for good."""

    owner: str
    pipeline: str
    uploads_days: float | None
    results_days: float | None


class RuleLine(BaseModel):
    """Days; null in `*_days` is as the settings say, `*_forever` is for good."""

    owner: str
    pipeline: str
    uploads_days: float | None
    uploads_forever: bool
    results_days: float | None
    results_forever: bool


class RetentionView(BaseModel):
    """`periods` are days by kind and pipeline, '' for all others; null is for good."""

    periods: dict[str, dict[str, float | None]]
    rules: list[RuleLine] = Field(description="Owners with periods of their own")
    used: float | None = Field(description="How full the store's disk is, 0 to 1")
    limit: float = Field(description="Fuller than this: shorter periods hold")
    pressed: bool
    lines: list[PreviewLine] = Field(description="What the next sweep would delete or archive")
    sweeps: list[SweepLine] = Field(description="The newest first")


LIST_RULES: Final = """
SELECT owner, pipeline, nullif(uploads_days, 'Infinity') AS uploads_days,
       coalesce(uploads_days = 'Infinity', false) AS uploads_forever,
       nullif(results_days, 'Infinity') AS results_days,
       coalesce(results_days = 'Infinity', false) AS results_forever
  FROM retention_rules ORDER BY owner, pipeline LIMIT 500
"""


async def load_retention(site: Site, owner: Owner) -> RetentionView:
    check_watcher(owner)
    rules, used = site.config.retention, await site.store.fullness()
    pressed = await retention.is_pressed(rules, site.store)
    async with read_connection(site.pool) as conn:
        async with conn.cursor(row_factory=class_row(RuleLine)) as cur:
            own = await (await cur.execute(LIST_RULES)).fetchall()
        lines = await sweep.preview(
            conn, rules, pressed=pressed, keep_events=site.config.keep_events
        )
        last = await retention.list_sweeps(conn, SWEEPS_SHOWN)
    return RetentionView(
        periods=rules.in_days(), rules=own, used=used, limit=rules.pressure, pressed=pressed,
        lines=lines, sweeps=last,
    )  # fmt: skip


async def ask_sweep(site: Site, owner: Owner) -> bool:
    """A worker, or whoever does the upkeep, begins within seconds."""
    check_admin(owner)

    async def ask(conn: Connection) -> bool:
        if not await retention.ask_sweep(conn, owner.key):
            return False
        await audit.record(conn, AuditedAction(owner.key, "retention.sweep", "retention"))
        return True

    return await write(site.pool, ask)


READ_RULE: Final = """
SELECT uploads_days::text, results_days::text FROM retention_rules
 WHERE owner = %(owner)s AND pipeline = %(pipeline)s
"""
SET_RULE: Final = """
INSERT INTO retention_rules (owner, pipeline, uploads_days, results_days, set_by)
VALUES (%(owner)s, %(pipeline)s, %(uploads)s, %(results)s, %(by)s)
ON CONFLICT (owner, pipeline) DO UPDATE SET uploads_days = excluded.uploads_days,
       results_days = excluded.results_days, set_by = excluded.set_by, set_at = now()
"""
DROP_RULE: Final = """
DELETE FROM retention_rules WHERE owner = %(owner)s AND pipeline = %(pipeline)s
"""


async def set_rule(site: Site, owner: Owner, rule: OwnRule) -> bool:
    """False where it says nothing, and so was taken away. The next sweep heeds it."""
    check_admin(owner)
    is_given = rule.uploads_days is not None or rule.results_days is not None
    if is_given and rule.pipeline and rule.pipeline not in site.catalog.accepts:
        raise DocmillError("UNKNOWN_PIPELINE", pipelines=sorted(site.catalog.accepts))
    return await write(site.pool, lambda conn: change_rule(conn, owner.key, rule))


async def change_rule(conn: Connection, by: str, rule: OwnRule) -> bool:
    args: dict[str, Any] = {
        "owner": rule.owner, "pipeline": rule.pipeline, "uploads": rule.uploads_days,
        "results": rule.results_days, "by": by,
    }  # fmt: skip
    row = await (await conn.execute(READ_RULE, args)).fetchone()
    before: dict[str, Any] = (
        dict(zip(("uploads_days", "results_days"), row, strict=True)) if row else {}
    )
    is_set = rule.uploads_days is not None or rule.results_days is not None
    if is_set:
        await enqueue.ensure_owner(conn, OwnerKey(rule.owner))
    await conn.execute(SET_RULE if is_set else DROP_RULE, args)
    after = {"uploads_days": rule.uploads_days, "results_days": rule.results_days}
    told = {name: str(days) for name, days in after.items() if days is not None}
    target = f"retention:{rule.owner}" + (f"/{rule.pipeline}" if rule.pipeline else "")
    await audit.record(conn, AuditedAction(by, "retention.rule", target), before=before, after=told)
    return is_set


async def pause_service(site: Site, owner: Owner, service: str, reason: str) -> None:
    """UNKNOWN_SERVICE for one that no living worker asks."""
    check_admin(owner)

    async def pause(conn: Connection) -> None:
        was = await _find_service(conn, service)
        await breaker.pause_service(conn, service, by=owner.key, reason=clean_text(reason))
        done = AuditedAction(owner.key, "service.pause", f"service:{service}")
        after = {"paused": True, "reason": clean_text(reason)}
        await audit.record(conn, done, before={"paused": was.paused_at is not None}, after=after)

    await write(site.pool, pause)


async def resume_service(site: Site, owner: Owner, service: str) -> None:
    check_admin(owner)

    async def resume(conn: Connection) -> None:
        was = await _find_service(conn, service)
        await breaker.resume_service(conn, service)
        done = AuditedAction(owner.key, "service.resume", f"service:{service}")
        before = {"paused": was.paused_at is not None, "reason": was.pause_reason}
        await audit.record(conn, done, before=before, after={"paused": False})

    await write(site.pool, resume)
    site.work.ring()


async def _find_service(conn: Connection, name: str) -> breaker.ServiceState:
    found = {one.service: one for one in await breaker.read_states(conn)}
    if name not in found:
        raise DocmillError("UNKNOWN_SERVICE", services=sorted(found))
    return found[name]
