"""A workflow that starts others as steps: each is an instance of its own, with its own log.

tenuto run examples/parent_child/parent_child.py:trip --input '{"to": "Rome", "nights": 2}'
"""

from __future__ import annotations

from typing import TypedDict

from tenuto import TaskError, child, task, workflow


class Booking(TypedDict):
    """What a child gives to its parent."""

    what: str
    price: int


@task
def find_seat(to: str) -> Booking:
    return {"what": f"flight to {to}", "price": 120}


@task
def find_room(to: str, nights: int) -> Booking:
    if nights > 30:
        raise TaskError("TOO_LONG", "no hotel keeps a guest for ever", retryable=False)
    return {"what": f"{nights} nights in {to}", "price": 80 * nights}


@task
def confirm(booking: Booking) -> Booking:
    return booking


@task
def write_invoice(flight: Booking, hotel: Booking) -> dict[str, object]:
    return {"for": [flight["what"], hotel["what"]], "total": flight["price"] + hotel["price"]}


@workflow
def book_flight(to: str) -> Booking:
    return confirm(find_seat(to))


@workflow
def book_hotel(to: str, nights: int) -> Booking:
    return confirm(find_room(to, nights))


@workflow
def trip(to: str, nights: int) -> dict[str, object]:
    """The two children run at once; what either gives is the value of its step."""
    flight = child(book_flight, to)
    hotel = child(book_hotel, to, nights)
    return write_invoice(flight, hotel)
