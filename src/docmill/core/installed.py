"""The installed pipelines and rooms, found by their entry points."""

import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from docmill.core.faults import CommandError
from docmill.core.plugins import (
    AUTO,
    PIPELINES,
    ROOMS,
    Format,
    JobLink,
    Pipeline,
    Reference,
    Room,
    Table,
    WarmsUp,
    list_mappings,
    takes_fields,
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


class StartError(CommandError):
    """The surroundings do not allow a start."""


@dataclass(frozen=True, slots=True)
class MappingRules:
    """What an operator says of mappings: those allowed, none for all; the default; their own."""

    allowed: Sequence[str]
    default: str
    added: Sequence[str] = ()


def make_catalog(loaded: LoadedPipelines, rules: MappingRules) -> PipelineCatalog:
    known = loaded.pipelines.items()
    offered = {
        name: (*given, *rules.added) if (given := list_mappings(one)) else () for name, one in known
    }
    if not loaded.broken:  # those of a broken pipeline can't be known
        _check_mappings({name for names in offered.values() for name in names}, rules)
    mappings = {name: _order_mappings(names, rules) for name, names in offered.items()}
    return PipelineCatalog(
        {name: one.accepts for name, one in known},
        {name: names for name, names in mappings.items() if names},
        frozenset(name for name, one in known if takes_fields(one)),
    )


def _order_mappings(names: Sequence[str], rules: MappingRules) -> tuple[str, ...]:
    """Those allowed, the default first and the others in the pipeline's order."""
    kept = [name for name in names if not rules.allowed or name in rules.allowed]
    return tuple(sorted(kept, key=lambda name: name != rules.default))


def _check_mappings(offered: set[str], rules: MappingRules) -> None:
    allowed, default = rules.allowed, rules.default
    if unknown := sorted({*allowed, default} - offered):
        raise StartError(
            f"There is no mapping {', '.join(unknown)}.\n"
            "DOCMILL_MAPPINGS and DOCMILL_DEFAULT_MAPPING take these: "
            f"{', '.join(sorted(offered))}."
        )
    # Where `auto` may not be asked for, the first of those allowed is the default.
    if allowed and default not in {*allowed, AUTO}:
        raise StartError(
            f"The default mapping {default} is not allowed.\n"
            f"Set DOCMILL_DEFAULT_MAPPING to one of DOCMILL_MAPPINGS: {', '.join(allowed)}."
        )
