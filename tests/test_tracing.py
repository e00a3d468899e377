"""Traces are off unless OpenTelemetry's own names ask for them, and cost nothing then."""

import subprocess
import sys

import pytest

from docmill import tracing

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, False),
        (ENDPOINT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, False),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_SERVICE_NAME": "docmill"}, False),
    ],
)
def test_the_standard_names_decide(given: dict[str, str], wanted: bool) -> None:
    assert tracing.is_wanted(given) is wanted


def test_without_a_collector_a_step_is_nothing_and_no_header_is_sent() -> None:
    first, second = tracing.span("one", job="a"), tracing.span("two")
    assert first is second, "a step that nobody hears makes an object"
    with first as step:
        step.say(code="UNKNOWN", status=500)
        step.rename("other")
        assert step.traceparent is None
    assert tracing.write_headers() == {}


def test_a_process_without_traces_does_not_load_the_library() -> None:
    says = "import sys, docmill.processes.worker; print('opentelemetry.sdk' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_a_name_that_is_not_known_is_no_attribute() -> None:
    """Whoever wants to say more adds it to the one list, where it is seen."""
    assert not {"filename", "text", "owner", "url", "path"} & tracing.NAMES.keys()
