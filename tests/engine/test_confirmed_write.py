"""What may be written already is written again, the same, until that is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tenuto import Tenuto
from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.model.errors import StoreUnavailable, may_be_written
from tenuto.ports import SystemClock, SystemIds
from tenuto.testing.wrapped_store import Call
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio

AWAY, LOST = StoreUnavailable("away"), may_be_written("the connection broke")
ADMIN = Principal(tenant="default", name="ada", role=Role.ADMIN, kind="key")


class Losing(ScriptedStore):
    """A store that keeps what it is given the first time, and whose answers go as scripted."""

    def __init__(self, answers: Sequence[StoreUnavailable]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.tries = 0

    async def on_listeners_put(self, call: Call) -> None:
        if not self.tries or not self.answers:
            await call()
        self._answer()

    async def on_access_put_key(self, call: Call) -> object:
        was_put = await call()
        self._answer()
        return was_put

    def _answer(self) -> None:
        self.tries += 1
        if self.answers:
            raise self.answers.pop(0)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenuto.engine.confirmed_write._PAUSES", (0.0, 0.0, 0.0))


async def test_a_webhook_whose_answer_was_lost_is_there_once() -> None:
    store = Losing([LOST, AWAY])
    async with Tenuto(store) as app:
        made = await app.webhooks.add("https://example.com/", "order.*")
        assert [each.id for each in await app.webhooks.list()] == [made.id]
        assert store.tries == 3


async def test_a_key_whose_answer_was_lost_is_there_once() -> None:
    store = Losing([LOST])
    async with Tenuto(store):
        made = await Keys(store, SystemClock(), SystemIds()).create(
            ADMIN, KeyWish(name="build", role="viewer")
        )
        assert [each.id for each in await store.access.keys("default")] == [made.row.id]


async def test_what_is_not_known_stays_so_and_what_was_refused_is_said_at_once() -> None:
    for answers, code, tries in (
        ([LOST, AWAY, AWAY, AWAY], "TEN-4019", 4),
        ([AWAY], "TEN-4001", 1),
    ):
        store = Losing(answers)
        async with Tenuto(store) as app:
            with pytest.raises(StoreUnavailable) as refused:
                await app.webhooks.add("https://example.com/", "order.*")
        assert (refused.value.code, store.tries) == (code, tries)
