"""A request to an address that is ended before it is answered."""

from __future__ import annotations

import asyncio

import pytest

from tenuto.executions.push_request import PendingRequest
from tenuto.executions.push_wire import Ticket, cancelled_outcome
from tenuto.ports import Page

TICKET = Ticket("default", "e", "t")


@pytest.mark.asyncio
async def test_why_a_request_was_ended_first_is_what_comes_of_it() -> None:
    async def silent() -> Page:
        await asyncio.Event().wait()
        raise AssertionError("it has answered")

    call = PendingRequest(TICKET, asyncio.ensure_future(silent()))
    outcome = asyncio.ensure_future(call.outcome())
    call.cancel()
    call.give_back()
    call.drop()
    assert await outcome == cancelled_outcome(TICKET)
