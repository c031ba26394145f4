"""Secrets are the same over an engine in this process and over HTTP; no method gives a value."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenuto import Conflict, InvalidInput, NotFound
from tenuto.compose import LateSeals
from tenuto.engine.secrets.vault import NoSeals
from tenuto.model.errors import Overloaded
from tenuto.model.json import JSON, Object
from tenuto.model.quotas import Quotas
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

VALUE = "sk-live-51Hxyz"


REFUSED: list[tuple[str, str, Any, list[str]]] = [
    ("1KEY", VALUE, None, ["TEN-2760"]),
    ("a-b", VALUE, None, ["TEN-2760"]),
    ("K" * 65, VALUE, None, ["TEN-2760"]),
    ("KEY", "abc", None, ["TEN-2761"]),
    ("KEY", "x" * 32_769, None, ["TEN-2761"]),
    ("KEY", VALUE, [], ["TEN-2762"]),
    ("KEY", VALUE, ["https://api.example.com/x"], ["TEN-2762"]),
    ("KEY", VALUE, ["ok.example.com", "a b", ""], ["TEN-2762", "TEN-2762"]),
    ("KEY", VALUE, [f"h{n}.example.com" for n in range(101)], ["TEN-2762"]),
    ("a-b", "abc", ["a b"], ["TEN-2760", "TEN-2761", "TEN-2762"]),
]


def flow(id: str, given: JSON) -> Object:
    return {"id": id, "steps": [{"stepId": "a", "type": "TASK", "taskId": "x", "input": given}]}


async def test_a_secret_is_stored_replaced_listed_and_removed(place: Place) -> None:
    secrets = place.workspace.secrets
    assert await secrets.list() == []
    first = await secrets.put("KEY", VALUE)
    assert (first.name, first.destinations) == ("KEY", None)
    assert first.changed_by is not None
    names = ["API.example.com", "api.example.com", "warehouse", "[::1]:8443"]
    second = await secrets.put("KEY", "another value", destinations=names)
    assert second.destinations == ["api.example.com", "warehouse", "[::1]:8443"]
    assert second.changed_at >= first.changed_at
    await secrets.put("A_KEY", VALUE)
    assert [each.name for each in await secrets.list()] == ["A_KEY", "KEY"]
    page = await secrets.page(limit=1)
    assert [each.name for each in page.items] == ["A_KEY"]
    page = await secrets.page(limit=1, cursor=page.next_cursor)
    assert ([each.name for each in page.items], page.next_cursor) == (["KEY"], None)
    await secrets.remove("KEY")
    with pytest.raises(NotFound) as caught:
        await secrets.get("KEY")
    assert caught.value.code == "TEN-3160"
    with pytest.raises(NotFound):
        await secrets.remove("KEY")


async def test_a_secret_that_is_used_is_removed_by_force_alone(place: Place) -> None:
    """A secret that something names is removed only with `force`."""
    workspace = place.workspace
    await workspace.secrets.put("KEY", VALUE)
    await workspace.save(flow("pay", {"key": "Bearer {{ secrets.KEY }}"}))
    await workspace.save(flow("other", {"key": "{{secrets.KEYS}}", "text": "secrets.KEY"}))
    [found] = await workspace.secrets.list()
    assert found.used_by.workflows == ["pay"]
    with pytest.raises(Conflict) as caught:
        await workspace.secrets.remove("KEY")
    assert caught.value.code == "TEN-3161"
    assert "the workflow pay" in caught.value.message
    await workspace.secrets.remove("KEY", force=True)
    assert await workspace.secrets.list() == []


async def test_what_cannot_be_stored_is_told_all_at_once_and_without_the_value(
    place: Place,
) -> None:
    """A value has at least four characters and is encrypted before it reaches the store; without
    keys it is refused, except that a store in a file gets a key file beside it.
    """
    for name, value, destinations, codes in REFUSED:
        with pytest.raises(InvalidInput) as caught:
            await place.workspace.secrets.put(name, value, destinations=destinations)
        assert [each.code for each in caught.value.problems] == codes
        assert VALUE not in str(caught.value)
    assert await place.app.engine.store.secrets.count("default", 9) == 0


async def test_without_keys_a_secret_is_refused_with_the_way_to_make_one(place: Place) -> None:
    assert isinstance(place.app.engine.seals, LateSeals)
    place.app.engine.seals = NoSeals()
    with pytest.raises(Conflict) as caught:
        await place.workspace.secrets.put("KEY", VALUE)
    assert caught.value.code == "TEN-4120"
    assert "tenuto encryption generate" in caught.value.advice


async def test_no_tenant_has_more_secrets_than_its_quota(place: Place) -> None:
    await place.workspace.secrets.put("ONE", VALUE)
    engine = place.app.engine
    engine.settings = replace(engine.settings, quotas=Quotas(secrets=1))
    await place.workspace.secrets.put("ONE", "another value")
    with pytest.raises(Overloaded) as caught:
        await place.workspace.secrets.put("TWO", VALUE)
    assert caught.value.code == "TEN-4294"
