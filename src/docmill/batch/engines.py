"""Who reads the shards: this process, or actors of a Ray cluster. Both by the same functions."""

import asyncio
import math
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from docmill.batch import parts
from docmill.batch.manifest import Shard
from docmill.batch.parts import PartTally
from docmill.batch.reader import Reader, TableReader
from docmill.core.faults import CommandError, DocmillError
from docmill.documents.confined import ReadRequest
from docmill.sandbox.limits import RunLimits
from docmill.storage import open_store
from docmill.storage.contract import Store

# A shard whose actor dies so often is the engine's trouble: its documents are confined.
LIVES: Final = 5


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """What whoever reads shards must know, on whatever machine. `retry`: only what failed."""

    source: str
    out: str
    request: ReadRequest
    limits: RunLimits
    retry: bool = False


class Watch(Protocol):
    """Is told how a batch comes on."""

    def list(self, documents: int) -> None:
        """So many are listed by now."""
        ...

    def expect(self, documents: int) -> None: ...
    def skip(self, documents: int) -> None:
        """These were done before."""
        ...

    def add(self, documents: int, failed: int) -> None: ...


class Engine(Protocol):
    """`slots` is how many shards it takes at a time."""

    slots: int

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exc: object) -> None: ...
    async def read(self, shard: Shard) -> PartTally: ...


class LocalEngine:
    """Reads in children of this process. Two shards at a time: no core waits for a shard's last."""

    def __init__(self, plan: WorkPlan, watch: Watch, *, jobs: int, shard: int) -> None:
        self.slots: int = 2 + math.ceil(2 * jobs / shard)
        self._plan: WorkPlan = plan
        self._watch: Watch = watch
        self._out: Store = open_store(plan.out)
        self._reader: TableReader = TableReader(
            plan.request, source=plan.source, limits=plan.limits, jobs=jobs
        )

    async def __aenter__(self) -> Self:
        await self._reader.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._reader.__aexit__(*exc)
        await self._out.close()

    async def read(self, shard: Shard) -> PartTally:
        work = parts.retry_shard if self._plan.retry else parts.read_shard
        return await work(
            self._reader, self._out, shard, lambda ok: self._watch.add(1, 0 if ok else 1)
        )


class ShardActor:
    """Reads shards in a worker of an engine, one document at a time."""

    def __init__(self, plan: WorkPlan) -> None:
        asked = plan.request
        self._plan: WorkPlan = plan
        self._out: Store = open_store(plan.out)
        self._reader: Reader = Reader(
            asked.pipeline,
            source=plan.source,
            limits=plan.limits,
            mapping=asked.mapping,
            options=asked.options,
            rows=asked.rows,
        )

    def read(self, shard: Shard) -> PartTally | tuple[str, str]:
        """The tally, or the code and detail of what makes it useless to go on."""
        work = parts.retry_shard if self._plan.retry else parts.read_shard
        try:
            return self._reader.run(lambda reader: work(reader, self._out, shard))
        except DocmillError as exc:
            return exc.fault.code, exc.detail


class RayEngine:
    """Reads in actors, one for each CPU of the cluster that RAY_ADDRESS names, or of this machine.

    An actor that dies is replaced, and its shard is read again by another.
    """

    def __init__(self, plan: WorkPlan, watch: Watch, *, actors: int | None) -> None:
        self.slots: int = actors or 0
        self._plan: WorkPlan = plan
        self._watch: Watch = watch
        self._ray: Any = load_ray()
        self._free: asyncio.Queue[Any] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        if not self._ray.is_initialized():
            self._ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        self.slots = self.slots or int(self._ray.cluster_resources().get("CPU", 1))
        for _ in range(self.slots):
            self._free.put_nowait(self._start_actor())
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._ray.shutdown)

    def _start_actor(self) -> Any:
        return self._ray.remote(num_cpus=1)(ShardActor).remote(self._plan)

    async def read(self, shard: Shard) -> PartTally:
        for _ in range(LIVES):
            actor = await self._free.get()
            try:
                tally: PartTally | tuple[str, str] = await actor.read.remote(shard)
            except self._ray.exceptions.RayActorError:
                actor = self._start_actor()
                continue
            finally:
                self._free.put_nowait(actor)
            if isinstance(tally, tuple):
                raise DocmillError(*tally)
            self._watch.add(tally.documents, tally.failed)
            return tally
        raise CommandError(
            f"Ray lost the actor that reads {shard.name} {LIVES} times.\n"
            "See Ray's logs for why (memory, most often), then run the same command again."
        )


def load_ray() -> Any:
    """The library, which is an extra. Raises CommandError without it."""
    try:
        import ray  # pyright: ignore[reportMissingImports]  # noqa: PLC0415
    except ImportError as exc:
        raise CommandError(
            "--engine ray needs a library that is not installed (ray).\n"
            "Install Ray where docmill is, such as: uv pip install --python .venv/bin/python ray"
        ) from exc
    return ray
