"""docmill storage: the stored bytes go to another store while docmill runs."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import typer
from rich.filesize import decimal

from docmill import app as docmill_app
from docmill.cli.console import err, say, say_json
from docmill.cli.options import AsJson, Data
from docmill.cli.progress import ProgressBoard
from docmill.core import failpoints
from docmill.core.faults import CommandError, DocmillError
from docmill.settings import Settings, read_settings
from docmill.storage import endpoint_of, folder_of, open_store
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.moving import (
    FOLDERS,
    MoveOutcome,
    StoredTotal,
    measure_store,
    move_objects,
)

app = typer.Typer(
    name="storage",
    help="Move the stored files to another store, while docmill runs.",
    no_args_is_help=True,
    add_completion=False,
)

Source = Annotated[
    str, typer.Argument(metavar="FROM", help="Where they are, in the form of DOCMILL_STORE.")
]
Target = Annotated[
    str, typer.Argument(metavar="TO", help="Where they go, in the form of DOCMILL_STORE.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count what would be moved.")]


@app.callback()
def choose() -> None:
    """One command so far; its name is said all the same."""


@app.command("move")
def move_storage(
    source: Source, target: Target, dry_run: DryRun = False, as_json: AsJson = False,
    data: Data = None,
) -> None:  # fmt: skip
    """Move the stored files from one store to another, while docmill runs.

    First set DOCMILL_STORE=TO and DOCMILL_STORE_ALSO=FROM for every process and restart them:
    they read from both and write to TO. Each object is copied, read back, compared by its hash,
    and only then deleted from FROM. You can stop this at any moment and start it again.

    Example: docmill storage move file:///srv/docmill 's3://documents?region=eu-west-1'
    """
    settings = read_settings(data=data)
    failpoints.arm(settings.failpoints)
    told = asyncio.run(_move(settings, source, target, dry_run=dry_run, quiet=as_json))
    if as_json:
        say_json(told)
    else:
        _tell(told, source, target)
    if told["differs"]:
        raise typer.Exit(1)


async def _move(
    settings: Settings, source: str, target: str, *, dry_run: bool, quiet: bool
) -> dict[str, Any]:
    folder = folder_of(source)
    if folder is not None and not folder.is_dir():
        raise CommandError(f"FROM is no folder: {folder}\nName the one that DOCMILL_STORE named.")
    async with _open_place(source) as old, _open_place(target) as new:
        if old.name == new.name:
            raise CommandError(f"FROM and TO are the same store: {old.name}\nName two stores.")
        await _check_listing("FROM", old)
        await _check_listing("TO", new)
        found = await measure_store(old)
        if dry_run:
            return _report(found, Counter(), []) | {"dry_run": True}
        if (await _name_places(settings)) != (new.name, old.name):
            raise CommandError(_explain_settings(old.name, new.name))
        _check_endpoint("DOCMILL_STORE", docmill_app.find_store(settings), "TO", target)
        _check_endpoint("DOCMILL_STORE_ALSO", settings.store_also or "", "FROM", source)
        return await _move_all(old, new, found, quiet=quiet)


@asynccontextmanager
async def _open_place(place: str) -> AsyncGenerator[Store]:
    try:
        store = open_store(place)
    except OSError as exc:
        says = f"The store {place.partition('?')[0]} can't be used: {exc.strerror or exc}."
        raise CommandError(f"{says}\nMake it writable for this user.") from exc
    try:
        yield store
    finally:
        await store.close()


async def _check_listing(word: str, store: Store) -> None:
    """Whoever mistypes an address or a key learns which one, before anything is copied."""
    try:
        async for _ in store.pages(FOLDERS[0]):
            break
    except DocmillError as exc:
        raise CommandError(
            f"{word} can't be listed: {store.name}: {exc.detail}.\n"
            "Check its address and options, the keys, and your rights there."
        ) from exc


async def _name_places(settings: Settings) -> tuple[str, str] | None:
    """Where the processes write and where else they read, by our settings; None for one place."""
    if not settings.store_also:
        return None
    async with (
        _open_place(docmill_app.find_store(settings)) as first,
        _open_place(settings.store_also) as also,
    ):
        return first.name, also.name


def _explain_settings(old: str, new: str) -> str:
    return (
        "docmill would not find what is moved: it does not read from both stores.\n"
        f"Set DOCMILL_STORE={new} and DOCMILL_STORE_ALSO={old} (with their options) for "
        "every process and here, start the processes again, then move."
    )


def _check_endpoint(setting: str, address: str, word: str, given: str) -> None:
    """A bucket of the same name at another server is another bucket."""
    if (ours := endpoint_of(address)) != (theirs := endpoint_of(given)):
        raise CommandError(
            f"{setting} and {word} name one bucket at two servers: endpoint {ours or 'not given'}"
            f" and {theirs or 'not given'}.\nWrite {word} with the options that {setting} has."
        )


async def _move_all(
    old: Store, new: Store, found: dict[str, StoredTotal], *, quiet: bool
) -> dict[str, Any]:
    ended: Counter[MoveOutcome] = Counter()
    differing: list[str] = []
    with ProgressBoard(err, quiet=quiet) as board:
        board.expect(sum(total.objects for total in found.values()))

        def note(stored: ObjectInfo, outcome: MoveOutcome) -> None:
            ended[outcome] += 1
            board.advance()
            if outcome is MoveOutcome.DIFFERS:
                differing.append(stored.key)
                board.say(f"{stored.key}: other bytes lie at the target; both are left alone.")

        try:
            await move_objects(old, new, note)
        except DocmillError as exc:
            raise CommandError(
                f"After {ended[MoveOutcome.MOVED]} objects a store failed: {exc.detail}.\n"
                "Nothing is lost. Run the same command again: it goes on where it ended."
            ) from exc
    return _report(found, ended, differing)


def _report(
    found: dict[str, StoredTotal], ended: Counter[MoveOutcome], differing: list[str]
) -> dict[str, Any]:
    return {
        "found": {
            folder: {"objects": total.objects, "bytes": total.bytes}
            for folder, total in found.items()
        },
        **{str(outcome): ended[outcome] for outcome in MoveOutcome},
        "keys": differing,
    }


def _tell(told: dict[str, Any], source: str, target: str) -> None:
    objects = sum(total["objects"] for total in told["found"].values())
    size = sum(total["bytes"] for total in told["found"].values())
    if told.get("dry_run"):
        for folder, total in told["found"].items():
            say(f"{folder}: {total['objects']} objects, {decimal(total['bytes'])}")
        say(f"{objects} objects, {decimal(size)} would be moved.")
        return
    gone = f" {told['gone']} were deleted meanwhile." if told["gone"] else ""
    say(f"{told['moved']} objects moved, each compared by its hash.{gone}")
    if told["differs"]:
        say(f"{told['differs']} have other bytes at {target.partition('?')[0]}: look at them.")
        return
    say(f"Nothing is left at {source.partition('?')[0]}. Now set, for every process:")
    say(f"  DOCMILL_STORE={target}")
    say("  DOCMILL_STORE_ALSO=    (empty, or not at all)")
