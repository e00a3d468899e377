"""docmill mapping and docmill profile: which XML invoices become, and what it says of the owner."""

import asyncio
import difflib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from docmill.cli.commands import MAPPINGS_DIR, REREAD
from docmill.cli.console import complain, err, out, say, say_json
from docmill.cli.options import AsJson
from docmill.cli.remote import RemoteClient, Token, Url, ask_once
from docmill.cli.tables import format_age, make_table, print_table
from docmill.client.asynchronous import HERE
from docmill.core.faults import DocmillError
from docmill.core.plugins import resolve
from docmill.invoices import formats
from docmill.invoices import profile as invoices_profile
from docmill.invoices.formats import Emitted, validators
from docmill.invoices.formats.language import InvoiceMapping, MappingError
from docmill.invoices.formats.validators import ValidatorUnavailableError, Violation, has_passed
from docmill.invoices.own_mappings import register_folder
from docmill.invoices.profile import Profile, parse_profile
from docmill.jobs.commands import resolve_id


def choose_mapping(name: str) -> InvoiceMapping:
    if folder := resolve(MAPPINGS_DIR)():
        register_folder(folder)
    if name in formats.list_names() or not Path(name).is_file():
        return formats.load(name)
    try:
        return formats.load_file(Path(name))
    except MappingError as exc:
        raise typer.BadParameter(str(exc), param_hint="NAME") from exc


NEWEST: Final = 50
ONLY: Final = {"status": "complete", "pipeline": "invoice"}
# What a document says today, or None and the reason why that can't be told.
Reread = tuple[dict[str, Any] | None, str]
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
class StoredInvoice:
    """What a job read; nothing when its result is gone or it never had one."""

    id: str
    data: dict[str, Any] | None
    job: dict[str, Any] = field(default_factory=dict[str, Any])


def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A mapping, or the path of a file.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A mapping, or the path of a file.")],
    jobs: Annotated[
        list[str] | None,
        typer.Option(help=f"Ids of jobs; default: your newest {NEWEST} complete invoices."),
    ] = None,
    reread: Annotated[
        bool,
        typer.Option(
            "--reread", help="Read the stored PDFs again with the installed pipeline, for NEW."
        ),
    ] = False,
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Show what another mapping would change in stored invoices; nothing is written.

    With --reread, OLD writes what was read then and NEW what the installed pipeline reads now:
    the same name twice shows what another version of the pipeline changes. The PDFs come from the
    store in DOCMILL_STORE or DOCMILL_DATA, so run it where the store is.

    Exit 1 if the new mapping or the reading fails on an invoice.

    docmill mapping diff pt_simon_invoice_v1 pt_simon_invoice_v1 --reread

    docmill mapping diff pt_simon_invoice_v1 our_invoice_v1.mapping --jobs 3f2a --jobs 77b1
    """
    before, after = choose_mapping(old), choose_mapping(new)
    stored, profile = asyncio.run(_load_stored(RemoteClient(url, token), jobs or []))
    again = resolve(REREAD)([each.job for each in stored]) if reread else None
    now: dict[str, Reread] = asyncio.run(again) if again else {}
    rows = [_compare((before, after), each, profile, now.get(each.id)) for each in stored]
    if as_json:
        say_json([asdict(row) for row in rows])
    else:
        _print_rows(rows)
    if any(row.outcome == FAILS for row in rows):
        raise typer.Exit(1)


async def _load_stored(
    client: RemoteClient, given: list[str]
) -> tuple[list[StoredInvoice], Profile]:
    async with client:
        ids = [await resolve_id(client, one) for one in given]
        if not given:
            ids = [job["id"] async for job in client.jobs(NEWEST, **ONLY)]
        answers = [await client.ask("GET", f"/api/job-status/{job_id}") for job_id in ids]
        profile = parse_profile(await client.ask("GET", "/api/profile"))
        found = [await client.ask("GET", f"/api/jobs/{job_id}") for job_id in ids]
    return [
        StoredInvoice(answer["jobId"], answer.get("result"), job)
        for answer, job in zip(answers, found, strict=True)
    ], profile


def _compare(
    both: tuple[InvoiceMapping, InvoiceMapping],
    stored: StoredInvoice,
    profile: Profile,
    now: Reread | None,
) -> Compared:
    old, new = both
    if stored.data is None:
        return Compared(stored.id, GONE, reason="there is no result")
    data, reason = now or (stored.data, "")
    if data is None:
        return Compared(stored.id, FAILS, reason=reason)
    versions = (str(stored.data.get("version")), str(data.get("version"))) if now else None
    stored_profile = stored.data.get("profile")
    own = parse_profile(stored_profile) if stored_profile else profile
    before, _ = _write(old, stored.data, own)
    after, reason = _write(new, data, own)
    if after is None:
        return Compared(stored.id, FAILS, reason=reason, versions=versions)
    text = _unified_diff(f"{stored.id} {old.name}", before, f"{stored.id} {new.name}", after)
    flagged = before.review if before else ()
    review = [path for path in after.review if path not in flagged]
    outcome = CHANGED if text else SAME
    return Compared(stored.id, outcome, text, review=review, versions=versions)


def _write(
    mapping: InvoiceMapping, data: dict[str, Any], profile: Profile
) -> tuple[Emitted | None, str]:
    """What is written, or why nothing can be."""
    try:
        return formats.emit(mapping, data, profile, pretty=True), ""
    except DocmillError as exc:
        return None, exc.detail or exc.fault.says


def _unified_diff(old: str, before: Emitted | None, new: str, after: Emitted) -> str:
    first = before.xml.decode().splitlines() if before else []
    lines = difflib.unified_diff(first, after.xml.decode().splitlines(), old, new, lineterm="")
    return "\n".join(lines)


def _print_rows(rows: list[Compared]) -> None:
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


mapping_app = typer.Typer(
    name="mapping", help="Which XML an invoice becomes.", no_args_is_help=True, add_completion=False
)
mapping_app.command()(diff)


MAPPINGS: Final = "/api/mappings"
Name = Annotated[str, typer.Argument(metavar="NAME", help="A mapping.")]


@mapping_app.command()
def assign(
    name: Name,
    owner: Annotated[
        str | None, typer.Option(help="To this one: user:ann, desk:trading ...")
    ] = None,
    percent: Annotated[
        int | None, typer.Option(min=1, max=100, help="To this percentage of all owners.")
    ] = None,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Make a mapping the default of some owners.

    A percentage always selects the same owners, and keeps them when it grows.

    docmill mapping assign our_invoice_v2 --owner user:ann

    docmill mapping assign our_invoice_v2 --percent 10
    """
    if (owner is None) == (percent is None):
        raise typer.BadParameter("Give --owner or --percent, and not both.")
    wish = {"owner": owner} if owner else {"percent": percent}
    ask_once(url, token, "POST", f"{MAPPINGS}/{quote(name)}/assignments", json=wish)
    say(f"{name} goes to {owner or f'{percent} % of all owners'}.")


@mapping_app.command()
def revoke(name: Name, url: Url = HERE, token: Token = None) -> None:
    """Take a mapping back from all owners it was assigned to. They get the default again.

    docmill mapping revoke our_invoice_v2
    """
    ask_once(url, token, "DELETE", f"{MAPPINGS}/{quote(name)}/assignments")
    say(f"{name} is given to nobody; it can still be asked for by name.")


@mapping_app.command()
def assignments(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """List who assigned which mapping to whom, and when it was revoked; newest first."""
    found = ask_once(url, token, "GET", f"{MAPPINGS}/assignments")["assignments"]
    if as_json:
        say_json(found)
    elif found:
        _print_assignments(found)
    else:
        say("No mapping was assigned. Whoever asks for none gets the default.")


def _print_assignments(found: Iterable[Mapping[str, Any]]) -> None:
    table = make_table("MAPPING", "TO", "AGE", "BY", "REVOKED")
    for each in found:
        revoked = each["revoked_at"]
        table.add_row(
            each["mapping"],
            each["owner"] or f"{each['percent']} %",
            format_age(each["assigned_at"]),
            each["assigned_by"],
            f"{format_age(revoked)} ago by {each['revoked_by']}" if revoked else "",
        )
    print_table(table)


@mapping_app.command("list")
def list_mappings(as_json: AsJson = False) -> None:
    """The mappings that come with docmill, and those of DOCMILL_MAPPINGS_DIR."""
    if folder := resolve(MAPPINGS_DIR)():
        register_folder(folder)
    found = [formats.load(name) for name in formats.list_names()]
    if as_json:
        say_json([{"name": each.name, "title": each.title} for each in found])
        return
    for each in found:
        is_default = each.name == formats.DEFAULT
        say(f"{each.name:<22}{each.title}{' (default)' if is_default else ''}")


@mapping_app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A mapping file.")],
    as_json: AsJson = False,
) -> None:
    """Check a mapping file; report every problem with its line.

    docmill mapping check our_invoice_v1.mapping
    """
    try:
        mapping = formats.load_file(file)
    except MappingError as exc:
        if as_json:
            say_json([asdict(trouble) for trouble in exc.troubles])
        for trouble in () if as_json else exc.troubles:
            err.print(str(trouble), markup=False)
        raise typer.Exit(1) from exc
    except OSError as exc:
        complain(f"Can't read {file}: {exc.strerror}", "Give the path of a mapping file.")
        raise typer.Exit(1) from exc
    say_json([]) if as_json else say(f"{mapping.name}: no troubles")


@mapping_app.command("try")
def try_mapping(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A mapping, or the path of a file.")],
    invoice: Annotated[Path, typer.Argument(metavar="INVOICE.json", help="What was read.")],
    profile: Annotated[
        Path | None, typer.Option(help="The owner's tin, idtku, trx_code ..")
    ] = None,
    pretty: Annotated[bool, typer.Option("--pretty", help="Indent the XML.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write an invoice's XML and report what is wrong with it; nothing is stored.

    The XML goes to standard output, the rest to standard error. Exit 1 when a rule is broken.

    docmill mapping try ubl_invoice_v1 invoice.json --pretty
    """
    mapping = choose_mapping(name)
    try:
        own = invoices_profile.parse_profile(_read_json(profile)) if profile else Profile()
        emitted = formats.emit(mapping, _read_json(invoice), own, pretty=pretty)
    except ValueError as exc:
        raise typer.BadParameter(str(exc), param_hint="--profile") from exc
    except DocmillError as exc:
        complain(f"{exc.fault.code}: {exc.fault.says}", exc.detail)
        raise typer.Exit(1) from exc
    problems = _validate(mapping, emitted)
    if as_json:
        say_json(_make_report(emitted, problems))
    else:
        out.file.write(emitted.xml.decode().rstrip("\n") + "\n")
        _print_findings(emitted, problems)
    if not has_passed(problems):
        raise typer.Exit(1)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as exc:
        raise typer.BadParameter(f"{path}: {exc}") from exc
    if not isinstance(data, dict):
        raise typer.BadParameter(f"{path}: a JSON object is wanted")
    return {**data}


def _validate(mapping: InvoiceMapping, emitted: Emitted) -> list[Violation]:
    try:
        return validators.validate(mapping, emitted.xml)
    except ValidatorUnavailableError as exc:
        complain("Not checked.", str(exc))
        return []


def _make_report(emitted: Emitted, problems: list[Violation]) -> dict[str, Any]:
    return {
        "xml": emitted.xml.decode(),
        "review": emitted.review,
        "notes": emitted.notes,
        "problems": [asdict(problem) for problem in problems],
    }


def _print_findings(emitted: Emitted, problems: list[Violation]) -> None:
    for path in emitted.review:
        err.print(f"review   {path}", markup=False)
    for note in emitted.notes:
        err.print(f"note     {note}", markup=False)
    for problem in problems:
        err.print(f"{problem.severity:<9}{problem}", markup=False)


profile_app = typer.Typer(
    name="profile",
    help="Your company's details and defaults.",
    no_args_is_help=True,
    add_completion=False,
)
PROFILE: Final = "/api/profile"
RATES: Final = "rates"


@profile_app.command()
def show(as_json: AsJson = False, url: Url = HERE, token: Token = None) -> None:
    """Show your profile."""
    _print_profile(ask_once(url, token, "GET", PROFILE), as_json=as_json)


@profile_app.command("set")
def set_profile(
    values: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE", help="What to set; KEY= removes it.")
    ],
    as_json: AsJson = False,
    url: Url = HERE,
    token: Token = None,
) -> None:
    """Change your profile; other values stay. It applies to jobs you submit from now on.

    docmill profile set tin=01.234.567.8-901.000 trx_code=04

    docmill profile set rates.USD=16250 country=
    """
    given = dict(_parse_pair(value) for value in values)
    _print_profile(asyncio.run(_change_profile(RemoteClient(url, token), given)), as_json=as_json)


def _parse_pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise typer.BadParameter(f"{text!r} is not KEY=VALUE.", param_hint="KEY=VALUE")
    return name.strip(), value.strip()


async def _change_profile(client: RemoteClient, given: dict[str, str]) -> dict[str, Any]:
    async with client:
        profile = await client.ask("GET", PROFILE)
        rates = dict(profile[RATES])
        for name, value in given.items():
            if name.startswith(f"{RATES}."):
                rates[name.removeprefix(f"{RATES}.").upper()] = value
            else:
                profile[name] = value
        profile[RATES] = {currency: rate for currency, rate in rates.items() if rate}
        return await client.ask("PUT", PROFILE, json=profile)


def _print_profile(profile: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(profile)
        return
    rates = {f"{RATES}.{currency}": rate for currency, rate in profile[RATES].items()}
    for name, value in {**profile, **rates}.items():
        if name != RATES:
            say(f"{name:<16}{value or '-'}")
