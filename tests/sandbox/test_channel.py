"""What a run asks of services: through its channel, within limits, and never in its own name."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
import uvloop

from docmill.core.faults import DocmillError
from docmill.sandbox import protocol
from docmill.sandbox.outcome import RunReturned
from docmill.sandbox.pool import SandboxPool
from sandbox.pools import a_task, failed, make_pool, silent
from waits import PATIENCE

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
            raise DocmillError("SERVICE_BUSY", "later", retryAfter=7)
        return request * 2


async def told(sandbox: SandboxPool, document: int, desk: Any, does: str, **options: Any) -> Any:
    ran = await sandbox.run(a_task(does, **options), document, silent, host=desk)
    assert isinstance(ran, RunReturned), ran
    return json.loads(ran.data)["did"]


async def fault_of(sandbox: SandboxPool, document: int, does: str) -> tuple[str, str]:
    ran = await sandbox.run(a_task(does), document, silent, host=Doubler())
    assert not isinstance(ran, RunReturned)
    return ran.code, ran.detail


def test_a_run_is_heard_and_answered_on_the_loop_docmill_runs_on(document: int) -> None:
    """Its transports are no subclass of asyncio's: every run hung."""

    async def run() -> Any:
        async with asyncio.timeout(PATIENCE), make_pool() as opened:
            return await told(opened, document, Doubler(), "ask", service="double", request=21)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) == 42


@pytest.mark.parametrize("request_", [21, "é", [1, None], "x" * 500_000])
async def test_an_answer_comes_back_to_the_run(
    sandbox: SandboxPool, document: int, request_: Any
) -> None:
    found = await told(sandbox, document, Doubler(), "ask", service="double", request=request_)
    assert found == request_ * 2


async def test_what_no_desk_foresees_is_raised_where_the_run_is_attended(
    sandbox: SandboxPool, document: int
) -> None:
    with pytest.raises(TypeError):
        await told(sandbox, document, Doubler(), "ask", service="double", request={})
    assert await told(sandbox, document, Doubler(), "services")


async def test_threads_of_a_run_ask_one_after_the_other(
    sandbox: SandboxPool, document: int
) -> None:
    found = await told(sandbox, document, Doubler(), "ask in threads")
    assert found == [2 * n for n in range(8)]


async def test_a_run_sees_which_services_there_are_and_why_one_fails(
    sandbox: SandboxPool, document: int
) -> None:
    assert await told(sandbox, document, Doubler(), "services") == ["broken", "double"]
    assert await told(sandbox, document, None, "services") == []
    found = await told(sandbox, document, Doubler(), "ask or else")
    assert found == "SERVICE_BUSY {'retryAfter': 7}"
    assert await told(sandbox, document, None, "ask or else") == "SERVICE_UNSET {}"


@pytest.mark.parametrize(
    ("does", "detail"),
    [
        ("ask twice at once", "before the last answer"),
        ("ask nonsense", "a question that can't be read"),
        ("ask without end", "too many questions"),
        ("tell pages without end", "too much progress"),
    ],
)
async def test_a_run_that_floods_its_desk_is_ended(
    sandbox: SandboxPool, document: int, does: str, detail: str
) -> None:
    code, said = await fault_of(sandbox, document, does)
    assert code == "CRASHED"
    assert detail in said


@pytest.mark.parametrize("more", [{}, {"code": "BAD_PDF"}])
async def test_a_run_tells_its_pages_whether_it_ends_well_or_not_and_nobody_answers(
    sandbox: SandboxPool, document: int, more: dict[str, str]
) -> None:
    ran = await sandbox.run(a_task("tell pages", pages=12, **more), document, silent)
    assert (ran.pages, isinstance(ran, RunReturned)) == (12, not more)


async def test_too_long_a_question_is_refused_in_the_run_itself(
    sandbox: SandboxPool, document: int
) -> None:
    request = "x" * protocol.LONGEST[protocol.FrameKind.ASK]
    task = a_task("ask", service="double", request=request)
    ran = await failed(sandbox, document, task)
    assert ran.code == "SERVICE_REFUSED"


async def test_too_long_an_answer_is_a_refusal(
    sandbox: SandboxPool, document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LONGEST", {**protocol.LONGEST, protocol.FrameKind.ANSWER: 1000})
    ran = await sandbox.run(
        a_task("ask", service="double", request="x" * 600), document, silent, host=Doubler()
    )
    assert not isinstance(ran, RunReturned)
    assert ran.code == "SERVICE_REFUSED"


async def test_silence_while_waiting_for_an_answer_is_not_held_against_a_run(
    document: int,
) -> None:
    desk = Doubler()
    desk.opened.clear()
    async with make_pool(stall=timedelta(seconds=0.2)) as sandbox:
        run = asyncio.create_task(
            sandbox.run(a_task("ask", service="double", request=1), document, silent, host=desk)
        )
        while not desk.asked:
            await asyncio.sleep(0.01)
        done, _ = await asyncio.wait({run}, timeout=0.6)
        assert not done
        desk.opened.set()
        assert isinstance(await run, RunReturned)
        code, detail = await fault_of(sandbox, document, "ask and stay")
    assert (code, detail) == ("TIMED_OUT", "did nothing for 2 s")


async def test_a_cancelled_run_gives_up_what_it_asked_for(
    sandbox: SandboxPool, document: int
) -> None:
    desk = Doubler()
    desk.opened.clear()
    run = asyncio.create_task(
        sandbox.run(a_task("ask", service="double", request=1), document, silent, host=desk)
    )
    while not desk.asked:
        await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert desk.gave_up
