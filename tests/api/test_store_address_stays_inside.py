"""Where the store is, is for the operator's log: no client is told."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tenuto import Tenuto
from tenuto.api.live import protocol
from tenuto.api.operation import Operation
from tenuto.api.problems import error_item, problem_answer
from tenuto.api.registry import OPERATIONS
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import ProviderUnavailable, StoreUnavailable, may_be_written
from tenuto.testing.wrapped_store import Call
from tests.api.conftest import Serve, tasks
from tests.api.examples import example_of, furnished
from tests.kit.scripted_store import ScriptedStore

ADDRESS = "postgresql://tenuto@db.inner.example:5432/orders"
ADMIN = "x" * 40


def _outages() -> list[StoreUnavailable]:
    made = [StoreUnavailable(ADDRESS, code=code, advice=ADDRESS) for code in CATALOGUE]
    return [
        *made,
        StoreUnavailable(ADDRESS, code="TEN-0000", advice=ADDRESS),
        StoreUnavailable(ADDRESS),
        ProviderUnavailable(ADDRESS),
        may_be_written(ADDRESS, ADDRESS),
    ]


def test_no_outage_has_an_address_in_any_form_in_which_it_is_answered() -> None:
    for error in _outages():
        for shown in (
            problem_answer(error, "/x", "r").details,
            error_item(error),
            protocol.of_error(error),
        ):
            assert b"inner.example" not in msgspec.json.encode(shown), error.code
        assert ADDRESS in str(error), "the operator is told"


class AwayStore(ScriptedStore):
    """A store that can be taken away, and then says where it was."""

    is_away = False

    async def called(self, call: Call) -> Any:  # noqa: ANN401 - whatever the verb returns
        if self.is_away and not call.verb.startswith("members."):
            raise StoreUnavailable(f"the store {ADDRESS} cannot be reached", advice=ADDRESS)
        return await call()


def _is_answered_once(operation: Operation) -> bool:
    return operation.method != "WEBSOCKET" and operation.response_media != "text/event-stream"


@pytest.mark.asyncio
async def test_no_operation_tells_where_the_store_is_when_it_is_away(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    store = AwayStore()
    app = Tenuto(store, tasks=tasks())
    async with serve(app=app, admin_key=ADMIN) as call:
        things = await furnished(app, "default")
        headers = {"authorization": f"Bearer {ADMIN}"}
        store.is_away = True
        operations = [each for each in OPERATIONS if _is_answered_once(each)]

        async def ask(operation: Operation) -> int | None:
            example = example_of(operation, things)
            try:
                async with asyncio.timeout(5):
                    reply = await call(
                        operation.method, example.path, example.body, headers=headers
                    )
            except TimeoutError:
                # It waits for the store to come back.
                return None
            assert "inner.example" not in reply.text, operation.name
            assert not any("inner.example" in each for each in reply.headers.values())
            return reply.status

        try:
            statuses = await asyncio.gather(*map(ask, operations))
        finally:
            store.is_away = False
    assert statuses.count(503) > len(operations) / 2
    assert ADDRESS in caplog.text, "the operator is told"
