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
from docmill.storage import open_store
from docmill.storage.contract import ObjectInfo, Store
from docmill.storage.moving import MoveOutcome, StoredTotal, measure_store, move_objects

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
    async with _open_place(source) as old, _open_place(target) as new:
        if old.name == new.name:
            raise CommandError(f"FROM and TO are the same store: {old.name}\nName two stores.")
        found = await measure_store(old)
        if dry_run:
            return _report(found, Counter(), []) | {"dry_run": True}
        await _check_settings(settings, old, new)
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


async def _check_settings(settings: Settings, old: Store, new: Store) -> None:
    """Nothing moves to where the processes do not look: their settings are ours."""
    if settings.store_also:
        async with (
            _open_place(docmill_app.find_store(settings)) as first,
            _open_place(settings.store_also) as also,
        ):
            if (first.name, also.name) == (new.name, old.name):
                return
    raise CommandError(
        "docmill would not find what is moved: it does not read from both stores.\n"
        f"Set DOCMILL_STORE={new.name} and DOCMILL_STORE_ALSO={old.name} (with their options) for "
        "every process and here, start the processes again, then move."
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
