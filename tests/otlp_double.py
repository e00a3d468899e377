"""A collector's double: speaks OTLP over HTTP, and keeps the spans it was sent, decoded."""

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from doubles import Asked, Double
from speakers import answer


@dataclass(frozen=True, slots=True)
class SentSpan:
    name: str
    trace: str
    id: str
    parent: str
    facts: dict[str, Any]
    service: str
    failed: bool


class CollectorDouble(Double):
    def respond(self, asked: Asked) -> bytes:
        if (asked.method, asked.path) != ("POST", "/v1/traces"):
            return answer("404 Not Found", b"")
        assert asked.headers["content-type"] == "application/x-protobuf"
        return answer("200 OK", ExportTraceServiceResponse().SerializeToString())

    @property
    def spans(self) -> list[SentSpan]:
        return [span for asked in self.asked for span in _decode(asked)]

    def find(self, name: str, **facts: Any) -> list[SentSpan]:
        """Those of a name with these attributes, `docmill_job_id` for `docmill.job.id`."""
        wanted = {key.replace("_", "."): value for key, value in facts.items()}
        return [
            one for one in self.spans if one.name == name and wanted.items() <= one.facts.items()
        ]

    @property
    def raw(self) -> bytes:
        return b"".join(_unpack(asked) for asked in self.asked)


def _unpack(asked: Asked) -> bytes:
    packed = asked.headers.get("content-encoding") == "gzip"
    return gzip.decompress(asked.body) if packed else asked.body


def _decode(asked: Asked) -> Iterable[SentSpan]:
    told = ExportTraceServiceRequest.FromString(_unpack(asked))
    for resource in told.resource_spans:
        about = {one.key: one.value.string_value for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                facts = {one.key: _value(one.value) for one in span.attributes}
                yield SentSpan(
                    span.name, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(),
                    facts, about.get("service.name", ""), span.status.code == 2,
                )  # fmt: skip


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))
