"""One trace over all processes: request, job, attempt, its stages, and the service it asks."""

import asyncio
from typing import Final

import httpx2
import pytest

from doubles import doubling
from invoice_pdfs import HEAD, paper
from invoices.reader.test_second_reader import ROWS, TOTALS, TRUTH
from openai_double import KEY, OpenAIDouble
from otlp_double import CollectorDouble
from stories.house import House
from terminal import Served, wait_for
from waits import PATIENCE

pytestmark = pytest.mark.anyio

CALLER: Final = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
CANARY: Final = "canary-of-a-customer.pdf"


def upload(served: Served, name: str) -> str:
    """With a trace of the caller's own."""
    files = {"file": (name, paper(ROWS, TOTALS, HEAD), "application/pdf")}
    answer = httpx2.post(
        f"{served.url}/api/upload?q={CANARY}", files=files, data={"pipeline": "invoice"},
        headers={"traceparent": CALLER}, timeout=PATIENCE,
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    return answer.json()["jobId"]


async def test_a_trace_goes_from_the_caller_through_web_and_worker_to_the_model(
    house: House,
) -> None:
    model, collector = OpenAIDouble(lambda _name, _prompt: TRUTH), CollectorDouble()
    async with doubling(model), doubling(collector):
        environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test",
            "AUTH_MODE": "session",
            "DOCMILL_PIPELINES": "invoice",
            "DOCMILL_INVOICE_READER": "both",
            "DOCMILL_OPENAI_URL": f"{model.url}/v1",
            "DOCMILL_OPENAI_MODEL": "gpt-double",
            "OPENAI_API_KEY": KEY,
        }
        job = await asyncio.to_thread(convert, house, environment, collector)
    (request,) = collector.find("POST /api/upload")
    (made,) = collector.find("job", docmill_job_id=job)
    (attempt,) = collector.find("attempt", docmill_job_id=job)
    stages = {one.name: one for one in collector.spans if one.parent == attempt.id}
    assert (request.trace, request.parent) == tuple(CALLER.split("-")[1:3])
    assert (made.parent, attempt.parent) == (request.id, made.id)
    assert stages.keys() >= {"fetch", "read", "store"}
    asked = [one for one in collector.find("service") if one.parent == stages["read"].id]
    assert asked
    assert {one.facts["docmill.service"] for one in asked} == {"complete"}
    mine = [request, made, attempt, *stages.values(), *asked]
    assert {one.trace for one in mine} == {request.trace}
    assert {one.service for one in collector.spans} == {"docmill"}
    assert attempt.facts["docmill.outcome"] == "finished"
    assert request.facts["http.response.status_code"] == 200
    # The model hears whose question it is, and nothing private is in any span.
    sent = {one.headers.get("traceparent", "") for one in model.asked}
    assert {f"00-{one.trace}-{one.id}-01" for one in asked} == sent
    for secret in (CANARY, KEY, "INV/2025/03/0017", "session:"):
        assert secret.encode() not in collector.raw
    assert not [one for one in collector.spans if one.failed]


def convert(house: House, environment: dict[str, str], collector: CollectorDouble) -> str:
    with house.web(**environment) as served, house.worker(**environment):
        job = upload(served, CANARY)
        wait_for(lambda: set(house.states().values()) == {"complete"}, lambda: str(house.states()))
        wait_for(lambda: bool(collector.find("attempt")) and bool(collector.find("job")))
        wait_for(lambda: bool(collector.find("POST /api/upload")))
    return job
