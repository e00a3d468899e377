"""Traces by OpenTelemetry, where OTEL_* names ask for them; elsewhere nothing, at no cost.

A span says what was done, how long it took and how it ended, with ids. It never holds a document's
text, a file's name, an address or the message of an exception: only the names below are set.
"""

import os
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal

import structlog

from docmill.core.extras import advise_extra

log = structlog.get_logger()

Kind = Literal["internal", "server", "client", "producer", "consumer"]
# All that a span may say, and what OpenTelemetry calls it.
NAMES: Final = {
    "request": "docmill.request.id",
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
    "job": "docmill.job.id",
    "pipeline": "docmill.pipeline",
    "claim": "docmill.claim",
    "attempt": "docmill.attempt",
    "outcome": "docmill.outcome",
    "code": "docmill.fault",
    "service": "docmill.service",
}
HEADER: Final = "traceparent"
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
SERVER_ERROR: Final = 500


class NoSpan:
    """Where there are no traces: whatever is said to it is not heard."""

    traceparent: str | None = None

    def say(self, **facts: Any) -> None:
        """Nothing."""

    def rename(self, name: str) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Tracing:
    """OpenTelemetry's modules, which are an extra, and what was made of them."""

    api: Any
    propagator: Any
    provider: Any
    tracer: Any

    def parent(self, traceparent: str | None) -> Any:
        return self.propagator.extract({HEADER: traceparent}) if traceparent else None


class Span(NoSpan):
    """One step that is being traced."""

    def __init__(self, tracing: Tracing, inner: Any) -> None:
        self._tracing: Tracing = tracing
        self._inner: Any = inner
        carrier: dict[str, str] = {}
        tracing.propagator.inject(carrier)
        self.traceparent: str | None = carrier.get(HEADER)

    def say(self, **facts: Any) -> None:
        """How it went on. A fault, and a server's error, mark it as failed."""
        for name, value in facts.items():
            if value is not None:
                self._inner.set_attribute(NAMES[name], value)
        if facts.get("code") or int(facts.get("status") or 0) >= SERVER_ERROR:
            trace = self._tracing.api
            self._inner.set_status(trace.Status(trace.StatusCode.ERROR))

    def rename(self, name: str) -> None:
        """For a step that is known only when it is over: a request by its route."""
        self._inner.update_name(name)


_NO_SPAN: Final = NoSpan()
_NOTHING: Final = nullcontext(_NO_SPAN)
_tracing: Tracing | None = None


def is_wanted(environment: Mapping[str, str]) -> bool:
    """By OpenTelemetry's own names: an endpoint is set, and nothing says no."""
    off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    none = environment.get("OTEL_TRACES_EXPORTER", "otlp").lower() == "none"
    return not off and not none and any(environment.get(name) for name in ENDPOINTS)


def start() -> None:
    """Once in each process. Without the extra it says so and goes on without traces."""
    global _tracing  # noqa: PLW0603  one process, one provider
    if _tracing is not None or not is_wanted(os.environ):
        return
    try:
        _tracing = _open()
    except ImportError as exc:
        log.warning("tracing.not_installed", missing=exc.name, advice=advise_extra("otel"))


def _open() -> Tracing:
    """Sampling, batches, headers and the rest are read from OTEL_* by the libraries themselves."""
    api = import_module("opentelemetry.trace")
    sdk = import_module("opentelemetry.sdk.trace")
    export = import_module("opentelemetry.sdk.trace.export")
    resources = import_module("opentelemetry.sdk.resources")
    otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    w3c = import_module("opentelemetry.trace.propagation.tracecontext")
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    about = resources.Resource.create({} if named else {"service.name": "docmill"})
    provider = sdk.TracerProvider(resource=about)
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    propagator = w3c.TraceContextTextMapPropagator()
    return Tracing(api, propagator, provider, provider.get_tracer("docmill"))


def stop() -> None:
    """Send what is left. Whoever ends without this leaves it to the exit of the process."""
    global _tracing  # noqa: PLW0603
    if _tracing is not None:
        _tracing.provider.shutdown()
        _tracing = None


def is_on() -> bool:
    return _tracing is not None


def span(
    name: str, kind: Kind = "internal", *, parent: str | None = None, **facts: Any
) -> AbstractContextManager[NoSpan]:
    """A step of its own. `parent` is a traceparent from elsewhere; else it is the step around."""
    if _tracing is None:
        return _NOTHING
    return _open_span(_tracing, name, kind, parent, facts)


@contextmanager
def _open_span(
    tracing: Tracing, name: str, kind: Kind, parent: str | None, facts: Mapping[str, Any]
) -> Generator[NoSpan]:
    with tracing.tracer.start_as_current_span(
        name,
        context=tracing.parent(parent),
        kind=tracing.api.SpanKind[kind.upper()],
        record_exception=False,  # its message may quote the document
        set_status_on_exception=False,
    ) as inner:
        opened = Span(tracing, inner)
        opened.say(**facts)
        try:
            yield opened
        except BaseException as exc:
            inner.set_status(tracing.api.Status(tracing.api.StatusCode.ERROR))
            inner.set_attribute("error.type", type(exc).__name__)
            raise


def write_headers() -> dict[str, str]:
    """For a request to somebody else: their spans become part of the trace."""
    if _tracing is None:
        return {}
    carrier: dict[str, str] = {}
    _tracing.propagator.inject(carrier)
    return {HEADER: carrier[HEADER]} if HEADER in carrier else {}
