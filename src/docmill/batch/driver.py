"""A batch from its list to its last count. Killed at any moment, the same command goes on."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from docmill.batch import manifest, parts
from docmill.batch.engines import Engine, Watch, WorkPlan
from docmill.batch.manifest import Manifest, Selection, Shard
from docmill.batch.parts import PartTally
from docmill.core import installed
from docmill.core.faults import CommandError
from docmill.documents.confined import ReadRequest
from docmill.storage import open_store
from docmill.storage.contract import Store

BATCH: Final = "_batch.json"
SUCCESS: Final = "_SUCCESS"
# What a batch is, of which the command has an option of the same name.
OPTIONS: Final = frozenset({"pipeline", "mapping", "rows", "limit", "shard"})
# Tallies asked for at a time, at the end.
AT_A_TIME: Final = 32


@dataclass(frozen=True, slots=True)
class BatchRun:
    """How a batch stands at its end. `complete` where there was nothing left to do."""

    tally: PartTally
    listed: Manifest
    complete: bool = False


class Batch:
    """One output, and what is to be in it."""

    def __init__(self, plan: WorkPlan, selection: Selection) -> None:
        self._plan: WorkPlan = plan
        self._selection: Selection = selection
        self._source: Store = open_store(plan.source)
        self._out: Store = open_store(plan.out)
        self._identity: dict[str, Any] = _identify(plan.request)

    async def run(self, start: Callable[[], Engine], watch: Watch) -> BatchRun:
        """`start` gives the engine, which nobody needs where all is done."""
        await self._check_places()
        await self._claim_output()
        listed = await manifest.ensure_manifest(
            self._source, self._out, self._selection, watch.list
        )
        if not listed.documents:
            raise CommandError(self._explain_empty(listed))
        done = await manifest.read_json(self._out, SUCCESS)
        if done and not (self._plan.retry and done["failed"]):
            return BatchRun(PartTally(**done), listed, complete=True)
        await self._out.delete(SUCCESS)
        await self._read_missing(start, listed, watch)
        tally = await self._count(listed)
        await self._out.put(SUCCESS, json.dumps(asdict(tally)).encode())
        await manifest.drop_other_listings(self._out, listed)
        return BatchRun(tally, listed)

    async def close(self) -> None:
        await self._source.close()
        await self._out.close()

    def shards(self, listed: Manifest) -> AsyncIterator[Shard]:
        return manifest.read_shards(self._out, listed, json.dumps(self._identity, sort_keys=True))

    async def _check_places(self) -> None:
        inside = f"{self._source.name.rstrip('/')}/"
        if f"{self._out.name}/".startswith(inside):
            raise CommandError(f"OUT lies inside IN: {self._out.name}\nChoose an OUT beside it.")

    async def _claim_output(self) -> None:
        """OUT is this batch's alone: another pipeline, version or choice needs another OUT."""
        chosen = asdict(self._selection)
        chosen["endings"] = sorted(self._selection.endings)
        ours = {"source": self._source.name, **self._identity, **chosen}
        found = await manifest.read_json(self._out, BATCH)
        if found is None:
            async for page in self._out.pages(""):
                raise CommandError(
                    f"OUT is not empty, and holds no batch: {page[0].key}\nChoose an empty OUT."
                )
            await self._out.create(BATCH, json.dumps(ours, indent=2).encode())
            found = await manifest.read_json(self._out, BATCH) or ours
        if differ := [name for name in ours if found.get(name) != ours[name]]:
            says = "; ".join(_compare(name, found.get(name), ours[name]) for name in differ)
            raise CommandError(
                f"OUT holds another batch: {says}.\n"
                "Choose another OUT, or ask for the same to go on with this one."
            )

    def _explain_empty(self, listed: Manifest) -> str:
        place = self._source.name
        if not listed.skipped:
            return f"There is nothing in {place}.\nCheck the address, and that you may list it."
        endings = ", ".join(sorted(self._selection.endings))
        return (
            f"None of the {listed.skipped:,} objects in {place} ends in {endings}.\n"
            "With --all every object is taken for a document."
        )

    async def _read_missing(
        self, start: Callable[[], Engine], listed: Manifest, watch: Watch
    ) -> None:
        watch.expect(listed.documents)
        folder = parts.DEAD_LETTERS if self._plan.retry else parts.PARTS
        missing = self._select(listed, folder, watch)
        first = await anext(missing, None)
        if first is None:
            return
        async with start() as engine:
            await _pump(_chain(first, missing), engine)

    async def _select(self, listed: Manifest, folder: str, watch: Watch) -> AsyncIterator[Shard]:
        """Shards without a part, or, where the failed are tried again, those with dead letters."""
        async for shard, found in _join(self.shards(listed), _list_names(self._out, folder)):
            if found == self._plan.retry:
                yield shard
            else:
                watch.skip(len(shard.documents))

    async def _count(self, listed: Manifest) -> PartTally:
        """All tallies together. They must say what was listed."""
        total, waiting = PartTally(), list[str]()
        async for shard in self.shards(listed):
            waiting.append(shard.name)
            if len(waiting) == AT_A_TIME:
                total, waiting = await self._add(total, waiting), []
        total = await self._add(total, waiting)
        if not total.documents == listed.documents == total.ok + total.failed:
            raise CommandError(
                f"The counts do not add up: {listed.documents:,} listed, {total.documents:,} in"
                f" parts, {total.ok:,} ok, {total.failed:,} failed.\n"
                f"Somebody else has written to {self._out.name}; use another OUT."
            )
        return total

    async def _add(self, total: PartTally, names: list[str]) -> PartTally:
        found = await asyncio.gather(*(parts.read_tally(self._out, name) for name in names))
        return sum(found, total)


def _compare(name: str, theirs: Any, ours: Any) -> str:
    """In words of the command line, where the name is one of its options."""
    option = f"--{name}" if name in OPTIONS else name
    return f"{option} {_show(theirs)} there, {_show(ours)} here"


def _show(choice: Any) -> str:
    if choice is None or isinstance(choice, bool):
        return "given" if choice else "not given"
    return str(choice)


def _identify(request: ReadRequest) -> dict[str, Any]:
    """What decides what comes out of a document."""
    version = installed.load_pipeline(request.pipeline).version
    asked = {"mapping": request.mapping, "options": dict(request.options), "rows": request.rows}
    return {"pipeline": request.pipeline, "version": version, **asked}


async def _pump(shards: AsyncIterator[Shard], engine: Engine) -> None:
    """As many at a time as the engine takes; the first fault ends all."""
    running: set[asyncio.Task[PartTally]] = set()
    try:
        async for shard in shards:
            running.add(asyncio.create_task(engine.read(shard)))
            if len(running) >= engine.slots:
                running = await _collect(running)
        while running:
            running = await _collect(running)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _collect(running: set[asyncio.Task[PartTally]]) -> set[asyncio.Task[PartTally]]:
    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()
    return running


async def _chain(first: Shard, rest: AsyncIterator[Shard]) -> AsyncIterator[Shard]:
    yield first
    async for shard in rest:
        yield shard


async def _list_names(out: Store, folder: str) -> AsyncIterator[str]:
    """Of what lies in a folder of the output, in order, without endings."""
    async for page in out.pages(folder):
        for found in page:
            yield found.key.removeprefix(f"{folder}/").partition(".")[0]


async def _join(
    shards: AsyncIterator[Shard], names: AsyncIterator[str]
) -> AsyncIterator[tuple[Shard, bool]]:
    """Each shard, and whether it is among the names. Both come in order, so that none is kept."""
    name = await anext(names, None)
    async for shard in shards:
        while name is not None and name < shard.name:
            name = await anext(names, None)
        yield shard, name == shard.name
