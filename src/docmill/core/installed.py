"""The installed pipelines and rooms, found by their entry points."""

import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from docmill.core.plugins import (
    PIPELINES,
    ROOMS,
    Format,
    JobLink,
    Pipeline,
    Reference,
    Room,
    Table,
    WarmsUp,
)


def find_installed() -> dict[str, EntryPoint]:
    """The installed pipelines by name, not yet imported."""
    return {point.name: point for point in entry_points(group=PIPELINES)}


def load_pipeline(name: str) -> Pipeline:
    """Import one pipeline, by entry point or as `module:attribute`; it must keep the contract."""
    point = EntryPoint(name, name, PIPELINES) if ":" in name else find_installed()[name]
    pipeline = point.load()
    if not isinstance(pipeline, Pipeline) or (":" not in name and pipeline.name != name):
        raise TypeError(f"entry point {name!r} of {PIPELINES} is not a pipeline of that name")
    return pipeline


@dataclass(frozen=True, slots=True)
class LoadedPipelines:
    """The pipelines by name, and the stacks of those that could not be imported."""

    pipelines: Mapping[str, Pipeline]
    broken: Mapping[str, str]


def load_pipelines(names: Iterable[str], *, warm: bool = False) -> LoadedPipelines:
    """Import several and warm them up; one that fails, in whatever way, stops no other."""
    pipelines: dict[str, Pipeline] = {}
    broken: dict[str, str] = {}
    for name in names:
        try:
            one = load_pipeline(name)
            if warm and isinstance(one, WarmsUp):
                one.warm()
        except Exception:  # noqa: BLE001  its stack is shown
            broken[name] = traceback.format_exc()
        else:
            pipelines[one.name] = one
    return LoadedPipelines(pipelines, broken)


@dataclass(frozen=True, slots=True)
class Rooms:
    """The installed rooms by name, and the stacks of those that could not be imported."""

    rooms: Mapping[str, Room]
    broken: Mapping[str, str]

    @property
    def formats(self) -> Mapping[str, Mapping[str, Format]]:
        """By pipeline and by name."""
        return {
            room.pipeline: {one.name: one for one in room.formats}
            for room in self.rooms.values()
            if room.formats
        }

    def of(self, pipeline: str) -> list[Room]:
        return [room for room in self.rooms.values() if room.pipeline == pipeline]

    def job_links(self, pipeline: str, mapping: str | None) -> list[JobLink]:
        links = (one for room in self.of(pipeline) for one in room.job_links)
        return [one for one in links if mapping or not one.mapped]

    def title_of(self, name: str) -> str:
        """What people call a pipeline or a mapping; one without a title is called by its name."""
        titles = (room.titles[name] for room in self.rooms.values() if name in room.titles)
        return next(titles, name)

    @property
    def confined_runs(self) -> list[Reference]:
        return [one for room in self.rooms.values() for one in room.confined_runs]

    @property
    def tables(self) -> Mapping[str, Table]:
        """By the name of their rows."""
        return {one.rows: one for room in self.rooms.values() for one in room.tables}


@cache
def find_rooms() -> Rooms:
    """The installed rooms; one that fails to import is left out and stops no other."""
    rooms: dict[str, Room] = {}
    broken: dict[str, str] = {}
    for point in sorted(entry_points(group=ROOMS), key=lambda point: point.name):
        try:
            room = point.load()
            if not isinstance(room, Room) or room.name != point.name:
                raise TypeError(f"entry point {point.name!r} of {ROOMS} is not a room of that name")
        except Exception:  # noqa: BLE001  its stack is shown
            broken[point.name] = traceback.format_exc()
        else:
            rooms[room.name] = room
    return Rooms(rooms, broken)


@dataclass(frozen=True, slots=True)
class PipelineCatalog:
    """What this installation can do: its pipelines and the types and mappings each takes.

    `asks`: those that find fields asked for by name.
    """

    accepts: Mapping[str, tuple[str, ...]]
    mappings: Mapping[str, tuple[str, ...]]
    asks: frozenset[str] = frozenset()

    def default_mapping(self, pipeline: str) -> str | None:
        return next(iter(self.mappings.get(pipeline, ())), None)
