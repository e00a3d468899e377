import pytest

from docmill.core import plugins
from docmill.core.plugins import Memory, Steps


class Kept:
    """A memory as a job has it."""

    def __init__(self) -> None:
        self.steps: dict[tuple[str, int], list[object]] = {}

    @property
    def memory(self) -> Memory:
        return Memory(self._keep, lambda kind, number: self.steps.get((kind, number)))

    def _keep(self, kind: str, number: int, items: list[object]) -> None:
        self.steps[kind, number] = items


def work(kept: Kept, until: int) -> list[object]:
    """Ten characters each, twenty a step."""
    mine = Steps(kept.memory, "things", str)
    done: list[object] = [*mine.recall()]
    for number in range(len(done), until):
        mine.add(number, 10)
        done.append(str(number))
    return done


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "STEP_CHARS", 20)


def test_a_later_try_goes_on_after_the_last_whole_step() -> None:
    kept = Kept()
    work(kept, 5)
    assert kept.steps == {("things", 0): ["0", "1"], ("things", 1): ["2", "3"]}
    assert work(kept, 8) == [str(number) for number in range(8)]
    assert kept.steps["things", 3] == ["6", "7"]


def test_what_takes_long_is_kept_however_small_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "STEP_SECONDS", 0)
    kept = Kept()
    Steps(kept.memory, "things", str).add(1, 1)
    assert kept.steps == {("things", 0): ["1"]}


def test_kinds_of_work_do_not_meet() -> None:
    kept = Kept()
    work(kept, 4)
    assert [*Steps(kept.memory, "others", str).recall()] == []
