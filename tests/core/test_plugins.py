"""The contract of pipelines and rooms, held against all that are installed."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from docmill.core import installed, plugins
from docmill.core.plugins import (
    PDF,
    FindsFields,
    HasMappings,
    Output,
    Pipeline,
    Room,
    Source,
    Tools,
    WarmsUp,
)
from docmill.settings import Settings

ROOMS = installed.find_rooms().rooms
INSTALLED = sorted(installed.find_installed())


@dataclass(frozen=True, slots=True)
class Bare:
    """All that a pipeline must have."""

    name: str = "bare"
    version: str = "1"
    accepts: tuple[str, ...] = (PDF,)

    def run(self, source: Source, tools: Tools) -> Output:
        return Output({"name": source.filename, "rows": tools.rows})


@dataclass(frozen=True, slots=True)
class Told:
    page: int = 1
    words: tuple[str, ...] = ()


pipeline = Bare()
room = Room("bare")


def references(room: Room) -> list[str]:
    return [
        *filter(None, (ref for one in room.formats for ref in (one.write, one.make, one.check))),
        *(one.when for one in room.job_actions if one.when),
        *(one.write for one in room.tables),
        *(one.exist for one in room.tables if one.exist),
        *(one.target for one in room.commands),
        *room.routers,
        *room.confined_runs,
        *filter(None, (room.accept_options, room.run_options)),
    ]


@pytest.mark.parametrize("reference", [one for room in ROOMS.values() for one in references(room)])
def test_what_a_room_refers_to_is_there(reference: str) -> None:
    assert plugins.resolve(reference) is not None


@pytest.mark.parametrize("room", ROOMS.values(), ids=lambda room: room.name)
def test_a_room_speaks_of_pipelines_and_settings_that_exist(room: Room) -> None:
    assert not room.pipeline or room.pipeline in INSTALLED
    assert {*room.settings, *filter(None, [room.enabled_by])} <= {*Settings.model_fields}


@pytest.mark.parametrize("name", INSTALLED)
def test_installed_pipelines_keep_the_contract(name: str) -> None:
    loaded = installed.load_pipeline(name)
    assert loaded.name == name
    assert loaded.accepts


def test_a_pipeline_needs_no_more_than_three_facts_and_one_method() -> None:
    assert isinstance(pipeline, Pipeline)
    assert not isinstance(pipeline, FindsFields | HasMappings | WarmsUp)
    assert plugins.list_mappings(pipeline) == ()
    assert not plugins.takes_fields(pipeline)
    loaded = installed.load_pipelines([f"{__name__}:pipeline"], warm=True)
    assert loaded.pipelines == {"bare": pipeline}


def test_a_pipeline_that_fails_to_import_stops_no_other() -> None:
    loaded = installed.load_pipelines(["docmill.nowhere:pipeline", f"{__name__}:pipeline"])
    assert [*loaded.pipelines] == ["bare"]
    assert "ModuleNotFoundError" in loaded.broken["docmill.nowhere:pipeline"]


def test_a_room_that_is_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("bare", f"{__name__}:room", plugins.ROOMS),
        EntryPoint("gone", "docmill.nowhere:room", plugins.ROOMS),
        EntryPoint("other", f"{__name__}:pipeline", plugins.ROOMS),
    ]

    def list_points(**_: Any) -> list[EntryPoint]:
        return points

    monkeypatch.setattr(installed, "entry_points", list_points)
    found = installed.find_rooms.__wrapped__()
    assert found.rooms == {"bare": room}
    assert sorted(found.broken) == ["gone", "other"]


def test_options_are_read_into_a_pipelines_own_class() -> None:
    assert plugins.read_options(Told, {"page": 3, "strange": True}) == Told(3, ())
