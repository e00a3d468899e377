"""docmill verify: a receipt held against its files, on any machine; docmill receipts: its keys."""

import asyncio
import getpass
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

import psycopg
import typer

from docmill import __version__
from docmill import app as composition
from docmill.cli.console import complain, say, say_json
from docmill.cli.files import UnreadableFileError, open_document
from docmill.cli.options import AsJson, Data
from docmill.core.faults import CommandError
from docmill.core.jobs import ignore_progress
from docmill.core.json_values import as_object
from docmill.db import audit
from docmill.db.audit import AuditedAction
from docmill.documents import confined
from docmill.documents.confined import ConfinedReader, ReadRequest
from docmill.processes.database import find_database
from docmill.receipts import queries
from docmill.receipts.statement import (
    BadReceiptError,
    VerifiedReceipt,
    find_form,
    read_keys,
    verify,
    write_key,
)
from docmill.sandbox.outcome import RunFailed, RunReturned
from docmill.sandbox.pool import SandboxPool
from docmill.settings import read_settings


@dataclass(frozen=True, slots=True)
class VerifiedFact:
    """One thing that was looked at: `is_right`, and what was found in a sentence."""

    what: str
    is_right: bool
    says: str


@dataclass(frozen=True, slots=True)
class VerifiedFiles:
    """What `docmill verify --json` prints."""

    verified: bool
    findings: list[VerifiedFact]
    key: str | None = None
    trusted: bool = False
    statement: Mapping[str, Any] = field(default_factory=dict[str, Any])


def verify_receipt(
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help="A file from docmill.")],
    result: Annotated[
        list[Path] | None, typer.Option(help="A result that the receipt should cover.")
    ] = None,
    source: Annotated[Path | None, typer.Option(help="The file that was read.")] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(help="The public keys you trust: /api/receipts/key as a file, a PEM, or hex."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Read the source again here, and compare the bytes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a receipt and its files, without a server or database.

    It detects every changed byte in the receipt, a result or the source. Without --key it proves
    that nothing changed since signing, but not who signed.

    With --again the installed docmill reads the source again, as the receipt describes, and
    compares the result with the first reading. Another version may read differently, and so may
    the owner's lessons, which are not in a receipt.

    Exit 1 if anything differs from the receipt.

    docmill verify 3f2a.receipt.json --key key.json --source bill.pdf --result bill.xml
    """
    if again and source is None:
        raise typer.BadParameter("needs the file that was read: --source.", param_hint="--again")
    checked = _verify_files(receipt, result or [], source, _load_keys(key or []))
    if again and source and checked.verified:
        checked = asyncio.run(_read_also(checked, source, result or []))
    if as_json:
        say_json(asdict(checked))
    else:
        _print_findings(checked)
    if not checked.verified:
        raise typer.Exit(1)


async def _read_also(
    checked: VerifiedFiles, source: Path, results: Sequence[Path]
) -> VerifiedFiles:
    findings = [*checked.findings, *await _read_again(checked.statement, source, results)]
    right = all(one.is_right for one in findings)
    return replace(checked, verified=right, findings=findings)


def _load_keys(paths: Sequence[Path]) -> list[bytes]:
    try:
        return [key for path in paths for key in read_keys(_read(path))]
    except BadReceiptError as exc:
        raise typer.BadParameter(f"{exc}.", param_hint="--key") from exc


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise CommandError(f"{path} can't be read: {exc.strerror}.\nCheck its name.") from exc


def _hash_file(path: Path) -> str:
    try:
        with open_document(path) as document:
            return document.sha256()
    except UnreadableFileError as exc:
        raise CommandError(f"{path} {exc}\nCheck its name.") from exc


def _verify_files(
    receipt: Path, results: Sequence[Path], source: Path | None, keys: Sequence[bytes]
) -> VerifiedFiles:
    try:
        found = verify(_read(receipt), keys)
    except BadReceiptError as exc:
        return VerifiedFiles(
            False, [VerifiedFact("receipt", False, f"It can't be believed: {exc}.")]
        )
    findings = [VerifiedFact("receipt", True, _describe_signature(found))]
    findings += [_check_result(found, path) for path in results]
    if source is not None:
        right = _hash_file(source) == found.statement["source"]["sha256"]
        says = "is the file that was read" if right else "is not the file that was read"
        findings.append(VerifiedFact("source", right, f"{source.name} {says}."))
    right = all(one.is_right for one in findings)
    return VerifiedFiles(right, findings, found.key, found.trusted, found.statement)


def _describe_signature(found: VerifiedReceipt) -> str:
    whose = (
        "a key you believe" if found.trusted else "a key that nobody vouches for here: give --key"
    )
    return f"It is as it was signed, by {found.key}, {whose}."


def _check_result(found: VerifiedReceipt, path: Path) -> VerifiedFact:
    form = find_form(found.statement, _hash_file(path))
    says = f"is the {FORMS[form]}" if form else "is no result that the receipt speaks of"
    return VerifiedFact("result", form is not None, f"{path.name} {says}.")


FORMS: Final = {
    "data": "data of the result",
    "document": "document of the result",
    "reading": "data as it was read, before a review",
    "read_document": "document as it was before a review",
}


async def _read_again(
    statement: Mapping[str, Any], source: Path, results: Sequence[Path]
) -> list[VerifiedFact]:
    """The first reading, whatever a review made of it."""
    name, mapping = statement["pipeline"]["name"], statement["mapping"]
    settings = read_settings()
    options = {**composition.pipeline_options(settings).get(name, {}), **_find_profile(results)}
    request = ReadRequest(name, mapping["name"] if mapping else None, options)
    limits = composition.sandbox_limits(settings)
    with open_document(source) as document:
        async with SandboxPool(limits, pipelines=[name]) as sandbox:
            reader = ConfinedReader(sandbox, confined.load_catalog(name), request)
            ran = await reader.read(document, statement["source"]["sha256"], note=ignore_progress)
    if isinstance(ran, RunFailed):
        return [VerifiedFact("again", False, f"Read again it fails: {ran.message} ({ran.detail}).")]
    return _compare_bytes(statement, ran)


def _compare_bytes(statement: Mapping[str, Any], ran: RunReturned) -> list[VerifiedFact]:
    results = statement["results"]
    made = {"data": ran.data, "document": ran.artifact.content if ran.artifact else None}
    pairs = (("reading", "data"), ("read_document", "document")) if statement["revision"] else (
        ("data", "data"), ("document", "document"))  # fmt: skip
    findings: list[VerifiedFact] = []
    for form, name in pairs:
        content = made[name]
        if form in results and content is not None:
            same = hashlib.sha256(content).hexdigest() == results[form]["sha256"]
            findings.append(
                VerifiedFact("again", same, _describe_again(statement, name, same=same))
            )
    return findings


def _describe_again(statement: Mapping[str, Any], name: str, *, same: bool) -> str:
    if same:
        return f"Read again, the {name} has the same bytes."
    then = statement["docmill"]["read"] or "an earlier version"
    return f"Read again by docmill {__version__}, the {name} differs from that of {then}."


def _find_profile(results: Sequence[Path]) -> dict[str, Any]:
    """The owner's settings that its document was written with stand in the data."""
    for path in results:
        try:
            found: Any = json.loads(_read(path))
        except ValueError:
            continue
        if profile := as_object(found).get("profile"):
            return {"profile": profile}
    return {}


def _print_findings(checked: VerifiedFiles) -> None:
    for one in checked.findings:
        if one.is_right:
            say(f"right  {one.what}: {one.says}")
        else:
            complain(f"WRONG  {one.what}: {one.says}")
    if not checked.statement:
        return
    told = checked.statement
    say(f"job {told['job']}, {told['pipeline']['name']} version {told['pipeline']['version']}, "
        f"docmill {told['docmill']['read'] or 'unknown'}")  # fmt: skip
    if review := told["review"]:
        say(_describe_review(review))


def _describe_review(review: Mapping[str, Any]) -> str:
    if "trades" in review:
        who = sorted({one["reviewer"] for one in review["trades"] if one["reviewer"]})
        return f"review {review['status']}, revision {review['revision']}, by {', '.join(who)}"
    return (
        f"review {review['status']}, revision {review['revision']}, by {review['reviewer']} "
        f"at {review['at']}"
    )


app = typer.Typer(
    name="receipts",
    help="The keys that receipts are signed with.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command("keys")
def list_keys(data: Data = None) -> None:
    """Print the public keys as a JWK set, the current one first.

    docmill receipts keys > key.json
    """
    say_json({"keys": asyncio.run(_list_keys(find_database(read_settings(data=data))))})


async def _list_keys(url: str) -> list[dict[str, Any]]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        await queries.load_private(conn)
        found = await queries.list_keys(conn)
    return [
        write_key(one.public, created_at=one.created_at.isoformat())
        | ({"retired_at": one.retired_at.isoformat()} if one.retired_at else {})
        for one in found
    ]


@app.command("rotate")
def rotate_keys(as_json: AsJson = False, data: Data = None) -> None:
    """Sign with a new key from now on. Old receipts still verify.

    The old private key is deleted. Give the new public key to those who verify: `docmill receipts
    keys`.

    docmill receipts rotate
    """
    old, new = asyncio.run(_rotate(find_database(read_settings(data=data))))
    if as_json:
        say_json({"old": old, "new": new})
    else:
        say(f"Receipts are signed by {new} from now on{f', no longer by {old}' if old else ''}.")


async def _rotate(url: str) -> tuple[str | None, str]:
    async with await psycopg.AsyncConnection.connect(url) as conn:
        old, new = await queries.rotate_key(conn)
        done = AuditedAction(name_operator(), "receipts.rotate", "receipts:key")
        await audit.record(conn, done, before={"key": old}, after={"key": new})
    return old, new


def name_operator() -> str:
    """Who works at the machine itself, as the audit log calls him."""
    try:
        return f"operator:{getpass.getuser()}"
    except (KeyError, OSError):
        return "operator:unknown"
