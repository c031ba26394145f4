"""Makes spans of requests, turns and attempts; the only module that knows OpenTelemetry.

The span of an attempt is made when its end is durable, with the id that `ctx.traceparent` has:
spans of the services that the task called are its children, wherever the attempt ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
)

from tenuto.engine.turns.draft import Draft
from tenuto.metrics.steps import ENDS, began
from tenuto.model.ids import NodeKey
from tenuto.model.log import LogRow
from tenuto.model.traces import of_attempt
from tenuto.ports import Clock
from tenuto.store.parts.turns import Turn
from tenuto.tracing.current import within

_TURNS = 100
"""One of this many turns has a span: there may be hundreds of turns a second."""
_MS, _SECOND = 1_000_000, 1_000_000_000


class _ChosenIds(RandomIdGenerator):
    """Random ids, unless the next one is chosen."""

    def __init__(self) -> None:
        self.next: int | None = None

    def generate_span_id(self) -> int:
        chosen, self.next = self.next, None
        return super().generate_span_id() if chosen is None else chosen


class Spans:
    """Listens to a service and its engine, and passes spans to the exporter."""

    def __init__(self, processor: SpanProcessor, clock: Clock) -> None:
        self._ids = _ChosenIds()
        self._clock = clock
        self._turns = 0
        resource = Resource.create({"service.name": "tenuto"})
        self._provider = TracerProvider(id_generator=self._ids, resource=resource)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("tenuto")

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()

    @contextmanager
    def request(self, method: str, traceparent: str | None) -> Iterator[Span]:
        """Measure a request; instances that are started inside belong to it."""
        span = self._tracer.start_span(method, _parent(traceparent), kind=SpanKind.SERVER)
        try:
            with within(_written(span.get_span_context())):
                yield span
        finally:
            span.end()

    def turn(self, turn: Turn, seconds: float) -> None:
        """Make a span of every hundredth turn."""
        self._turns += 1
        if self._turns % _TURNS == 1:
            end = int(self._clock.now().timestamp() * _SECOND)
            attributes = {"tenuto.instances": len(turn.writes), "tenuto.events": len(turn.events)}
            began_at = end - int(seconds * _SECOND)
            self._tracer.start_span("turn", start_time=began_at, attributes=attributes).end(end)

    def heard(self, draft: Draft) -> None:
        """Make spans of ended attempts of instances that belong to a trace."""
        if draft.state.traceparent is None:
            return
        for row in draft.rows:
            if row.event_type in ENDS and (since := began(draft, row)) is not None:
                self._attempt(draft, draft.state.traceparent, row, since)

    def _attempt(self, draft: Draft, traceparent: str, row: LogRow, since: int) -> None:
        assert row.node_id is not None
        key = NodeKey(row.node_id, row.iteration)
        own = of_attempt(traceparent, draft.instance_id, key, row.attempt)
        attributes: Mapping[str, str | int] = {
            "tenuto.tenant": draft.held.tenant,
            "tenuto.workflow_id": draft.state.definition_id,
            "tenuto.instance_id": draft.instance_id,
            "tenuto.step": row.node_id,
            "tenuto.attempt": row.attempt,
        }
        self._ids.next = int(own.split("-")[2], 16)
        span = self._tracer.start_span(
            row.node_id, _parent(traceparent), attributes=attributes, start_time=since * _MS
        )
        if row.event_type == "NODE_FAILED":
            span.set_status(StatusCode.ERROR)
        span.end(row.at_ms * _MS)


def otlp_spans(clock: Clock) -> Spans:
    """Spans with the exporter of the variables OTEL_EXPORTER_OTLP_*."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - slow
        OTLPSpanExporter,
    )

    exporter: SpanExporter = OTLPSpanExporter()
    return Spans(BatchSpanProcessor(exporter), clock)


def _parent(traceparent: str | None) -> Context | None:
    if traceparent is None:
        return None
    _, trace_id, span_id, flags = traceparent.split("-")
    context = SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=TraceFlags(int(flags, 16))
    )
    return trace.set_span_in_context(NonRecordingSpan(context))


def _written(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
