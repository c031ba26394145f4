"""Events that come from outside: read whole, or refused with all that is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tenuto.events import GivenEvent, Reading, read_events
from tenuto.events.cloud_events import event_id, is_binary, read_binary
from tenuto.model.errors import InvalidInput
from tenuto.model.json import JSON, Object

CLOUD_EVENT: Object = {
    "specversion": "1.0",
    "type": "payment.received",
    "source": "https://shop.example/payments",
    "id": "p-1",
    "time": "2026-11-15T20:12:14+01:00",
    "subject": "order/7",
    "datacontenttype": "application/json",
    "correlationid": "order-7",
    "data": {"orderId": 7},
}


def problems(reading: Reading) -> set[tuple[str, str]]:
    assert isinstance(reading, tuple)
    assert all(problem.message and problem.advice for problem in reading)
    return {(problem.path, problem.code) for problem in reading}


def test_a_native_event_is_read_with_all_its_fields() -> None:
    document: Object = {
        "id": "e-1",
        "pattern": "payment.received",
        "payload": {"orderId": 7},
        "correlationId": "order-7",
        "timestamp": "2026-11-15T20:12:14Z",
    }
    assert read_events(document) == [
        GivenEvent(
            id="e-1",
            pattern="payment.received",
            payload={"orderId": 7},
            correlation_id="order-7",
            timestamp=datetime(2026, 11, 15, 20, 12, 14, tzinfo=UTC),
        )
    ]


def test_only_the_pattern_is_asked_for() -> None:
    assert read_events({"pattern": "tick"}) == [GivenEvent(pattern="tick")]


def test_a_cloud_event_is_read_as_what_it_says() -> None:
    assert read_events(CLOUD_EVENT) == [
        GivenEvent(
            id="cloudevent https://shop.example/payments p-1",
            pattern="payment.received",
            payload={"orderId": 7},
            correlation_id="order-7",
            timestamp=datetime(2026, 11, 15, 19, 12, 14, tzinfo=UTC),
        )
    ]


def test_a_cloud_event_in_headers_is_the_same_event() -> None:
    headers = {
        f"ce-{name}": str(value)
        for name, value in CLOUD_EVENT.items()
        if name not in ("data", "datacontenttype")
    }
    headers["content-type"] = "application/json; charset=utf-8"
    assert is_binary(headers)
    assert not is_binary({"content-type": "application/json"})
    assert [read_binary(headers, b'{"orderId": 7}', json.loads)] == read_events(CLOUD_EVENT)


@pytest.mark.parametrize(
    ("content_type", "body", "payload"),
    [
        ("application/vnd.shop+json", b"[1]", [1]),
        ("text/plain", "grün".encode(), "grün"),
        ("application/octet-stream", b"\xff\x00", "/wA="),
        ("text/plain", b"", None),
    ],
)
def test_a_body_is_read_as_what_its_type_says(
    content_type: str, body: bytes, payload: JSON
) -> None:
    headers = {
        "ce-specversion": "1.0",
        "ce-type": "a%20b",
        "ce-source": "/s",
        "ce-id": "1",
        "content-type": content_type,
    }
    assert read_binary(headers, body, json.loads) == GivenEvent(
        pattern="a b", payload=payload, id="cloudevent /s 1"
    )


def test_bytes_in_a_cloud_event_stay_base64() -> None:
    document = {**CLOUD_EVENT, "data_base64": "AP8="}
    del document["data"]
    (read,) = read_events(document)
    assert isinstance(read, GivenEvent)
    assert read.payload == "AP8="


def test_source_and_id_together_say_which_cloud_event_it_is() -> None:
    assert event_id("/a", "b") != event_id("/a/b", "")
    long = event_id("/" + "s" * 300, "1")
    assert len(long) < 255
    assert long != event_id("/" + "s" * 300, "2")


def test_all_that_is_wrong_with_an_event_is_said_at_once() -> None:
    document: Object = {
        "id": 7,
        "pattern": "workflow.completed",
        "correlationId": "",
        "timestamp": "yesterday",
        "paylod": 1,
    }
    (reading,) = read_events(document)
    assert problems(reading) == {
        ("$.id", "TEN-2020"),
        ("$.pattern", "TEN-2015"),
        ("$.correlationId", "TEN-2020"),
        ("$.timestamp", "TEN-2020"),
        ("$.paylod", "TEN-2020"),
    }


def test_an_event_without_a_pattern_is_refused() -> None:
    assert problems(read_events({"payload": 1})[0]) == {("$.pattern", "TEN-2020")}


def test_all_that_is_wrong_with_a_cloud_event_is_said_at_once() -> None:
    document: Object = {
        "specversion": "0.3",
        "type": "a..b",
        "source": "two words",
        "data": 1,
        "data_base64": "?",
        "time": 5,
    }
    (reading,) = read_events(document)
    assert problems(reading) == {
        ("$.specversion", "TEN-2021"),
        ("$.type", "TEN-2015"),
        ("$.source", "TEN-2021"),
        ("$.id", "TEN-2021"),
        ("$.data_base64", "TEN-2021"),
        ("$.time", "TEN-2021"),
    }


def test_one_wrong_event_of_several_says_which_and_leaves_the_others_alone() -> None:
    first, second, third = read_events([{"pattern": "a"}, {"pattern": "*"}, 5])
    assert first == GivenEvent(pattern="a")
    assert problems(second) == {("$[1].pattern", "TEN-2015")}
    assert problems(third) == {("$[2]", "TEN-2020")}


@pytest.mark.parametrize("document", [[], [{"pattern": "a"}] * 1_001])
def test_an_array_holds_between_one_and_a_thousand_events(document: list[JSON]) -> None:
    with pytest.raises(InvalidInput, match="TEN-2020"):
        read_events(document)


def test_text_that_no_store_keeps_is_refused() -> None:
    (reading,) = read_events({"pattern": "a", "id": "x\0y", "correlationId": "c" * 256})
    assert problems(reading) == {("$.id", "TEN-2020"), ("$.correlationId", "TEN-2012")}
