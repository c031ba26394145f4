"""The names that are near to that of an event which nothing names."""

from __future__ import annotations

from tenuto.definition.event_patterns import event_patterns
from tenuto.model.json import JSON, Object
from tenuto.workspace.event_hints import KnownPatterns


def test_the_patterns_of_a_definition_are_those_that_start_cancel_and_resume_it() -> None:
    wait: Object = {"eventPattern": "a", "arms": [{"eventPattern": "b"}, 7]}
    document: Object = {
        "steps": [{"type": "EVENT_WAIT", **wait}, {"more": {"eventPattern": "c"}}, None],
        "triggers": [{"eventPattern": "d"}],
        "cancellationTriggers": [{"eventPattern": "e.*"}],
    }
    assert sorted(event_patterns(document)) == ["a", "b", "c", "d", "e.*"]
    nodes: list[JSON] = [{"config": wait, "data": {"eventPattern": "drawn"}}]
    assert sorted(event_patterns({"nodes": nodes, "triggers": {}})) == ["a", "b"]
    assert list(event_patterns("no document")) == []


def test_a_hint_is_given_only_where_nothing_names_the_event() -> None:
    known = KnownPatterns({"payment.received", "order.*", "stock.**"}, is_complete=True)
    assert known.hint("payment.received") is None
    assert known.hint("order.placed") is None
    near = known.hint("payment.recieved")
    assert near is not None
    assert "did you mean `payment.received`?" in near
    far = known.hint("x")
    assert far is not None
    assert "they name `order.*`, `payment.received`, `stock.**`" in far


def test_what_was_not_read_may_name_the_event() -> None:
    known = KnownPatterns({"payment.received"}, is_complete=False)
    assert known.hint("x") is None
    assert known.hint("payment.recieved") is not None
    many = KnownPatterns({f"event.{number}" for number in range(2_000)}, is_complete=True)
    assert many.hint("other") is None
    assert KnownPatterns(set(), is_complete=True).hint("x") is not None
