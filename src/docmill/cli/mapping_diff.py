"""docmill mapping diff: what another mapping or pipeline would make of jobs; a dry run.

It asks for the job's status, not for a download: that is counted, and may take the result away.
"""

import asyncio
import difflib
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final

import typer

from docmill import mappings
from docmill.cli.client import HERE, Client, Token, Url
from docmill.cli.console import err, out, say, say_json
from docmill.cli.jobs import whole
from docmill.cli.mapping_files import chosen
from docmill.cli.rereading import Reread, reread
from docmill.core.faults import Faulted
from docmill.mappings import Emitted, InvoiceMapping, Profile, profile_of
from docmill.settings import read

NEWEST: Final = 50
ONLY: Final = {"status": "complete", "pipeline": "invoice"}
SAME, CHANGED, FAILS, GONE = "same", "changed", "fails", "gone"


@dataclass(frozen=True, slots=True)
class Compared:
    """One job under both mappings. `review` is what the new one asks to look at beyond the old.

    `versions` are those of the pipeline that read it then, and that reads it now.
    """

    id: str
    outcome: str
    diff: str = ""
    reason: str = ""
    review: list[str] = field(default_factory=list[str])
    versions: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """What a job read; nothing when its result is gone or it never had one."""

    id: str
    data: dict[str, Any] | None
    job: dict[str, Any] = field(default_factory=dict[str, Any])


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A mapping, or the path of a file.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A mapping, or the path of a file.")],
    jobs: Annotated[
        list[str] | None,
        typer.Option(help=f"Ids of jobs; without, your newest {NEWEST} complete invoices."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--reread", help="Let the installed pipeline read the stored PDFs again for NEW."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Show what would change if stored invoices were written by another mapping; nothing does.

    With --reread, OLD writes what was read then and NEW what the installed pipeline reads now:
    the same name twice shows what another version of the pipeline changes. The PDFs come out of
    the store as DOCMILL_STORE or DOCMILL_DATA name it, so run it where the store is.

    Exit 1 when the new mapping or the reading fails on one of them.

    docmill mapping diff pt_simon_invoice_v1 pt_simon_invoice_v1 --reread

    docmill mapping diff pt_simon_invoice_v1 our_invoice_v1.mapping --jobs 3f2a --jobs 77b1
    """
    before, after = chosen(old), chosen(new)
    stored, profile = asyncio.run(_stored(Client(url, token), jobs or []))
    now = asyncio.run(reread(read(), [each.job for each in stored])) if again else {}
    rows = [_compared((before, after), each, profile, now.get(each.id)) for each in stored]
    if as_json:
        say_json([asdict(row) for row in rows])
    else:
        _tell(rows)
    if any(row.outcome == FAILS for row in rows):
        raise typer.Exit(1)


async def _stored(client: Client, given: list[str]) -> tuple[list[Stored], Profile]:
    async with client:
        ids = [await whole(client, one) for one in given]
        if not given:
            ids = [job["id"] async for job in client.jobs(NEWEST, **ONLY)]
        answers = [await client.ask("GET", f"/api/job-status/{job_id}") for job_id in ids]
        profile = profile_of(await client.ask("GET", "/api/profile"))
        found = [await client.ask("GET", f"/api/jobs/{job_id}") for job_id in ids]
    return [
        Stored(answer["jobId"], answer.get("result"), job)
        for answer, job in zip(answers, found, strict=True)
    ], profile


def _compared(
    both: tuple[InvoiceMapping, InvoiceMapping],
    stored: Stored,
    profile: Profile,
    now: Reread | None,
) -> Compared:
    old, new = both
    if stored.data is None:
        return Compared(stored.id, GONE, reason="there is no result")
    data = now.data if now else stored.data
    if data is None:
        return Compared(stored.id, FAILS, reason=now.reason if now else "")
    versions = (str(stored.data.get("version")), str(data.get("version"))) if now else None
    told = stored.data.get("profile")
    own = profile_of(told) if told else profile
    before, _ = _written(old, stored.data, own)
    after, reason = _written(new, data, own)
    if after is None:
        return Compared(stored.id, FAILS, reason=reason, versions=versions)
    text = _diff(f"{stored.id} {old.name}", before, f"{stored.id} {new.name}", after)
    flagged = before.review if before else ()
    review = [path for path in after.review if path not in flagged]
    outcome = CHANGED if text else SAME
    return Compared(stored.id, outcome, text, review=review, versions=versions)


def _written(
    mapping: InvoiceMapping, data: dict[str, Any], profile: Profile
) -> tuple[Emitted | None, str]:
    """What is written, or why nothing can be."""
    try:
        return mappings.emit(mapping, data, profile, pretty=True), ""
    except Faulted as exc:
        return None, exc.detail or exc.fault.says


def _diff(old: str, before: Emitted | None, new: str, after: Emitted) -> str:
    first = before.xml.decode().splitlines() if before else []
    lines = difflib.unified_diff(first, after.xml.decode().splitlines(), old, new, lineterm="")
    return "\n".join(lines)


def _tell(rows: list[Compared]) -> None:
    """Differences on standard output, for a pager or `patch`; the rest beside."""
    for row in rows:
        if row.diff:
            out.file.write(row.diff + "\n")
        if row.versions and row.versions[0] != row.versions[1]:
            err.print(f"{row.id}: read by version {' > '.join(row.versions)}", markup=False)
        if row.reason:
            err.print(f"{row.id}: {row.outcome}: {row.reason}", markup=False)
        for path in row.review:
            err.print(f"{row.id}: review {path}", markup=False)
    counted = Counter(row.outcome for row in rows)
    words = [f"{counted[word]} {word}" for word in (SAME, CHANGED, FAILS, GONE)]
    say(f"{len(rows)} jobs: {', '.join(words)}")
