"""The documents that the product was conceived with compile as they stand."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tenuto.definition import check, compile_definition, parse_document
from tenuto.model.durations import Duration
from tenuto.model.graph import Definition, EventWait
from tenuto.model.json import JSON

SAMPLES = sorted(Path(__file__).parent.joinpath("samples").glob("*.json"))


def sample(name: str) -> JSON:
    file = Path(__file__).parent / "samples" / f"{name}.json"
    return parse_document(file.read_bytes(), file.name)


def compiled(name: str) -> Definition:
    return compile_definition(sample(name))


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_every_sample_is_valid_without_a_warning(file: Path) -> None:
    assert check(parse_document(file.read_bytes(), file.name)).problems == ()


def test_the_event_wait_sample_waits_three_days_for_a_payment() -> None:
    graph = compiled("event_wait").graph
    wait = graph.nodes[1].config
    assert isinstance(wait, EventWait)
    assert wait.event_timeout == Duration(timedelta(days=3))
    assert {(edge.source, edge.handle, edge.target) for edge in graph.edges} == {
        ("process_order", "default", "wait_for_payment"),
        ("wait_for_payment", "default", "complete_order"),
        ("wait_for_payment", "timeout", "handle_payment_timeout"),
    }


def test_the_surrounding_samples_keep_what_they_say() -> None:
    assert len(compiled("cancellation").cancellation_triggers) == 2
    assert [each.step_id for each in compiled("compensation").compensation_steps] == [
        "release_inventory",
        "refund_payment",
        "cancel_shipment",
    ]
