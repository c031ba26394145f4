"""A definition that is saved can be deployed again as it is, whatever rules came later."""

from __future__ import annotations

import pytest

from tenuto import InvalidDefinition, event, workflow
from tenuto.definition.references import References
from tenuto.model.json import Object
from tests.python_form.shop import pack
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

OLD: Object = {
    "id": "old",
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "t", "input": "{{steps.nope.output}}"}],
}


async def test_what_is_saved_is_deployed_again_and_refused_once_it_changes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before_the_rule:
        before_the_rule.setattr(References, "check", lambda *_: None)
        assert await place.workspace.deploy(OLD) == 1
    assert await place.workspace.deploy(dict(reversed(OLD.items()))) == 1
    saved = await place.workspace.save(OLD)
    assert saved.version == 1
    assert {each.severity for each in saved.problems} == {"warning"}
    assert "TEN-1057" in {each.code for each in saved.problems}
    with pytest.raises(InvalidDefinition):
        await place.workspace.deploy({**OLD, "name": "Changed"})


async def test_a_function_that_is_saved_is_deployed_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    @workflow(cancel_on=event("order.gone").where("steps.nope.output === event.payload"))
    def flow(order: str) -> object:
        return pack(order)

    with monkeypatch.context() as before_the_rule:
        before_the_rule.setattr(References, "check", lambda *_: None)
        assert await place.workspace.deploy(flow) == 1
    assert await place.workspace.deploy(flow) == 1
