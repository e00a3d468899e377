"""What a run asks of services: through its channel, within limits, and never in its own name."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from docmill.core.faults import Faulted
from docmill.work import framing
from docmill.work.child import Nursery, Returned
from work.nurseries import a_nursery, a_task, failed, silent

pytestmark = pytest.mark.anyio


class Doubler:
    """A desk of two services: one doubles a number, the other is broken."""

    services = frozenset({"double", "broken"})

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.opened: asyncio.Event = asyncio.Event()
        self.opened.set()
        self.gave_up: bool = False

    async def answer(self, service: str, request: Any) -> Any:
        self.asked.append(request)
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.gave_up = True
            raise
        if service == "broken":
            raise Faulted("SERVICE_BUSY", "later", retryAfter=7)
        return request * 2


async def told(nursery: Nursery, document: int, desk: Any, does: str, **options: Any) -> Any:
    ran = await nursery.run(a_task(does, **options), document, silent, desk=desk)
    assert isinstance(ran, Returned), ran
    return json.loads(ran.data)["did"]


async def fault_of(nursery: Nursery, document: int, does: str) -> tuple[str, str]:
    ran = await nursery.run(a_task(does), document, silent, desk=Doubler())
    assert not isinstance(ran, Returned)
    return ran.code, ran.detail


@pytest.mark.parametrize("request_", [21, "é", [1, None], "x" * 500_000])
async def test_an_answer_comes_back_to_the_run(
    nursery: Nursery, document: int, request_: Any
) -> None:
    found = await told(nursery, document, Doubler(), "ask", service="double", request=request_)
    assert found == request_ * 2


async def test_what_no_desk_foresees_is_raised_where_the_run_is_attended(
    nursery: Nursery, document: int
) -> None:
    with pytest.raises(TypeError):
        await told(nursery, document, Doubler(), "ask", service="double", request={})
    assert await told(nursery, document, Doubler(), "services")


async def test_threads_of_a_run_ask_one_after_the_other(nursery: Nursery, document: int) -> None:
    found = await told(nursery, document, Doubler(), "ask in threads")
    assert found == [2 * n for n in range(8)]


async def test_a_run_sees_which_services_there_are_and_why_one_fails(
    nursery: Nursery, document: int
) -> None:
    assert await told(nursery, document, Doubler(), "services") == ["broken", "double"]
    assert await told(nursery, document, None, "services") == []
    found = await told(nursery, document, Doubler(), "ask or else")
    assert found == "SERVICE_BUSY {'retryAfter': 7}"
    assert await told(nursery, document, None, "ask or else") == "SERVICE_UNSET {}"


@pytest.mark.parametrize(
    ("does", "detail"),
    [
        ("ask twice at once", "before the last answer"),
        ("ask nonsense", "a question that can't be read"),
        ("ask without end", "too many questions"),
    ],
)
async def test_a_run_that_floods_its_desk_is_ended(
    nursery: Nursery, document: int, does: str, detail: str
) -> None:
    code, said = await fault_of(nursery, document, does)
    assert code == "CRASHED"
    assert detail in said


async def test_too_long_a_question_is_refused_in_the_run_itself(
    nursery: Nursery, document: int
) -> None:
    request = "x" * framing.LONGEST[framing.Kind.ASK]
    task = a_task("ask", service="double", request=request)
    ran = await failed(nursery, document, task)
    assert ran.code == "SERVICE_REFUSED"


async def test_too_long_an_answer_is_a_refusal(
    nursery: Nursery, document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing, "LONGEST", {**framing.LONGEST, framing.Kind.ANSWER: 1000})
    ran = await nursery.run(
        a_task("ask", service="double", request="x" * 600), document, silent, desk=Doubler()
    )
    assert not isinstance(ran, Returned)
    assert ran.code == "SERVICE_REFUSED"


async def test_silence_while_waiting_for_an_answer_is_not_held_against_a_run(
    document: int,
) -> None:
    desk = Doubler()
    desk.opened.clear()
    async with a_nursery(stall=timedelta(seconds=0.2)) as nursery:
        run = asyncio.create_task(
            nursery.run(a_task("ask", service="double", request=1), document, silent, desk=desk)
        )
        while not desk.asked:
            await asyncio.sleep(0.01)
        done, _ = await asyncio.wait({run}, timeout=0.6)
        assert not done
        desk.opened.set()
        assert isinstance(await run, Returned)
        code, detail = await fault_of(nursery, document, "ask and stay")
    assert (code, detail) == ("TIMED_OUT", "no progress for 0.2 s")


async def test_a_cancelled_run_gives_up_what_it_asked_for(nursery: Nursery, document: int) -> None:
    desk = Doubler()
    desk.opened.clear()
    run = asyncio.create_task(
        nursery.run(a_task("ask", service="double", request=1), document, silent, desk=desk)
    )
    while not desk.asked:
        await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert desk.gave_up
