"""Events that are offered for a wait, by its condition."""

from __future__ import annotations

import pytest

from tenuto.cli.event_hints import event_hint


@pytest.mark.parametrize("place", ["workflow.input", "ctx.input"])
def test_an_offered_event_carries_what_the_condition_compares_with_the_input(place: str) -> None:
    condition = f"event.payload.orderId === {place}.orderId"
    hint = event_hint("payment.received", condition, {"orderId": "D1"})
    assert hint.arguments == """payment.received '{"orderId":"D1"}'"""
    assert hint.is_whole


def test_an_offered_event_is_not_whole_where_the_condition_says_more() -> None:
    condition = "event.payload.id === ctx.input.id && event.payload.amount > ctx.total"
    hint = event_hint("paid", condition, {"id": 7})
    assert (hint.arguments, hint.is_whole) == ("""paid '{"id":7}'""", False)
