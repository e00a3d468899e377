"""docmill embed: an archive goes to another model's vectors, while search goes on."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Annotated, Any, Final

import typer

from docmill.cli.console import err, say, say_json
from docmill.cli.options import AsJson, Data
from docmill.cli.progress import ProgressBoard
from docmill.core import failpoints
from docmill.core.faults import CommandError, DocmillError
from docmill.db.pool import Pool, open_pool
from docmill.extract import queries, vectors
from docmill.extract.reader.chunking import AT_A_TIME, cut_again, format_vector
from docmill.extract.vectors import StoredPassage
from docmill.processes import services
from docmill.processes.database import find_database
from docmill.processes.services import PassageEmbedder
from docmill.reading import embeddings
from docmill.services.breaker import read_pause
from docmill.settings import Settings, read_settings

PASSAGES: Final = 16  # at a time: what a kill costs
OLD_VECTORS: Final = 5000  # deleted at a time, so that nobody waits for long
PATIENCE: Final = timedelta(seconds=30)  # with passages that somebody else holds
TRIES: Final = 5  # of one question to a service that is busy

Again = Annotated[bool, typer.Option("--again", help="Also those with another model's vectors.")]
Model = Annotated[str | None, typer.Option(help="The model; default: the configured one.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count what would be made.")]


def embed_passages(
    again: Again = False, model: Model = None, dry_run: DryRun = False, as_json: AsJson = False,
    data: Data = None,
) -> None:  # fmt: skip
    """Make vectors for passages that have none; with --again, for all with another model.

    To change the model, set it for every process (DOCMILL_OPENAI_EMBEDDING_MODEL), restart them,
    then run `docmill embed --again`. Search uses the old vectors until the new ones are complete;
    then the old ones are deleted. You can stop this at any moment and start it again.

    Example: docmill embed --again --dry-run
    """
    settings = read_settings(data=data)
    failpoints.arm(settings.failpoints)
    _check_model(settings, model)
    told = asyncio.run(_embed(settings, model, again=again, dry_run=dry_run, quiet=as_json))
    if as_json:
        say_json(told)
    else:
        _tell(told)


def _check_model(settings: Settings, name: str | None) -> None:
    """Nothing is made that the processes would not ask for."""
    known = {embeddings.MODEL_NAME, settings.openai_embedding_model}
    if name is not None and name not in known:
        raise CommandError(
            f"The model {name} is not set, so nobody would search by it.\n"
            f"Set DOCMILL_OPENAI_EMBEDDING_MODEL={name} for every process and here, or name "
            f"{embeddings.MODEL_NAME}, which is built in."
        )


async def _embed(
    settings: Settings, name: str | None, *, again: bool, dry_run: bool, quiet: bool
) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        url = find_database(settings)
        pool = await stack.enter_async_context(open_pool(url, size=2, lock=PATIENCE))
        embedder = await _open_embedder(settings, stack, name)
        async with pool.connection() as conn:
            if not await queries.have_vectors(conn):
                raise CommandError(
                    "This PostgreSQL has no pgvector, so there are no vectors.\n"
                    "Install it, run `docmill migrate`, then this again."
                )
            lacking = await vectors.count_lacking(conn, embedder.model, again=again)
        told: dict[str, Any] = {"model": embedder.model.name, "width": embedder.model.width}
        told |= {"passages": lacking, "dry_run": dry_run}
        if dry_run:
            return told | {"embedded": 0, "deleted": 0}
        with ProgressBoard(err, quiet=quiet) as board:
            board.expect(lacking)
            embedded = await _embed_lacking(pool, embedder, board, again=again)
        await vectors.build_graphs(pool)
        deleted = await _delete_old(pool, embedder) if again else 0
        return told | {"embedded": embedded, "deleted": deleted}


async def _open_embedder(
    settings: Settings, stack: AsyncExitStack, name: str | None
) -> PassageEmbedder:
    try:
        embedder = await services.open_passage_embedder(settings, stack, name)
    except DocmillError as exc:
        raise CommandError(
            f"The model {settings.openai_embedding_model} does not answer: {exc.detail}.\n"
            "Check DOCMILL_OPENAI_URL, OPENAI_API_KEY and the model's name. A model that gives "
            "one width only needs DOCMILL_OPENAI_EMBEDDING_WIDTH=0."
        ) from exc
    if embedder is None:
        raise CommandError(
            f"The model {embeddings.MODEL_NAME} is not installed.\nRun `docmill models install`."
        )
    return embedder


async def _embed_lacking(
    pool: Pool, embedder: PassageEmbedder, board: ProgressBoard, *, again: bool
) -> int:
    done, after = 0, 0
    while True:
        async with pool.connection() as conn:
            batch = await vectors.list_lacking(
                conn, embedder.model, again=again, after=after, limit=PASSAGES
            )
        if not batch:
            return done
        after = batch[-1].id
        try:
            made = await _embed_batch(embedder, batch)
        except DocmillError as exc:
            raise CommandError(
                f"After {done} passages the model failed: {exc.detail}.\n"
                "Nothing is lost. Run the same command again: it goes on where it ended."
            ) from exc
        async with pool.connection() as conn:
            await vectors.add_vectors(conn, embedder.model, made)
        failpoints.hit("embed.added")
        done += len(batch)
        for _ in batch:
            board.advance()


async def _embed_batch(
    embedder: PassageEmbedder, batch: Sequence[StoredPassage]
) -> list[tuple[int, list[str]]]:
    parts = [(one.id, text) for one in batch for text in cut_again(one.heading, one.text) if text]
    found: dict[int, list[str]] = {}
    for start in range(0, len(parts), AT_A_TIME):
        some = parts[start : start + AT_A_TIME]
        for (id_, _), vector in zip(
            some, await _ask(embedder, [text for _, text in some]), strict=True
        ):
            found.setdefault(id_, []).append(format_vector(vector))
    return [*found.items()]


async def _ask(embedder: PassageEmbedder, texts: Sequence[str]) -> list[list[float]]:
    """A service that wants a pause has it."""
    for attempt in range(1, TRIES + 1):
        try:
            made = await embedder.embed(texts, embedder.model)
        except DocmillError as exc:
            pause = read_pause(exc)
            if attempt == TRIES or not exc.fault.retried:
                raise
            await asyncio.sleep(pause.total_seconds() if pause else 2.0**attempt)
            continue
        if made is None or len(made[0]) != embedder.model.width:
            raise DocmillError("SERVICE_REFUSED", "its vectors have another width than before")
        return made
    raise AssertionError("the last try raises")


async def _delete_old(pool: Pool, embedder: PassageEmbedder) -> int:
    deleted = 0
    while True:
        async with pool.connection() as conn:
            some = await vectors.drop_old_vectors(conn, embedder.model, limit=OLD_VECTORS)
        failpoints.hit("embed.dropped")
        if not some:
            await vectors.build_graphs(pool)  # those of the old models go
            return deleted
        deleted += some


def _tell(told: dict[str, Any]) -> None:
    model = f"{told['model']} ({told['width']} numbers a vector)"
    if told["dry_run"]:
        say(f"{told['passages']} passages would be embedded by {model}.")
        return
    say(f"{told['embedded']} passages embedded by {model}.")
    if told["deleted"]:
        say(f"{told['deleted']} vectors of other models deleted.")
    if told["width"] > queries.MOST_INDEXED:
        say(f"Wider than {queries.MOST_INDEXED}: searched one by one, without an index.")
