"""A field that no body declares is refused: no client sets what is the engine's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tenuto.api.operation import Operation
from tenuto.api.registry import OPERATIONS
from tenuto.model.json import Object
from tenuto.model.policy import Limits
from tests.api.conftest import DOUBLE, Serve, served
from tests.api.examples import Example, example_of, furnished
from tests.api.test_access_matrix import ask, bearing

pytestmark = pytest.mark.asyncio

ENGINES = ("tenant", "actor", "createdBy", "definition_version", "__node_a", "stateVersion")
"""Names of columns, and the engine's own fields."""
DECLARED = {("create_key", "tenant")}
_NOT_THERE = {"publish_in_test_run"}
"""There is no test run in the example."""


def bodies(operation: Operation, example: Example) -> Iterator[tuple[str, Object]]:
    if isinstance(example.body, dict) and not operation.is_public:
        for name in ENGINES:
            if (operation.name, name) not in DECLARED:
                yield name, {**example.body, name: "acme"}


async def test_no_operation_takes_a_field_of_the_engine() -> None:
    refused = set()
    async with served() as call:
        things = await furnished(call.app, "default")
        for operation in OPERATIONS:
            example = example_of(operation, things)
            for name, body in bodies(operation, example):
                asked = example._replace(body=body)
                answer = await ask(call, operation, asked, bearing(things.admin))
                if operation.name in _NOT_THERE:
                    assert answer.status == 404
                    continue
                # What is only checked has its problems in the answer.
                is_check = operation.name in ("validate_workflow", "preview_schedule_document")
                assert answer.status == (200 if is_check else 422), (operation.name, name, answer)
                assert name in answer.text, (operation.name, name, answer)
                refused.add(operation.name)
    assert len(refused) > 40


async def test_no_document_changes_a_limit(serve: Serve) -> None:
    limits: Object = {}
    for field in Limits.__struct_fields__:
        first, *rest = field.split("_")
        limits |= {field: 10**9, first + "".join(map(str.title, rest)): 10**9}
    steps: Any = DOUBLE["steps"]
    [step] = steps
    async with serve() as call:
        for name, value in [*limits.items(), ("limits", limits), ("quotas", limits)]:
            for document in (
                {**DOUBLE, name: value},
                {**DOUBLE, "options": {name: value}},
                {**DOUBLE, "steps": [{**step, name: value}]},
            ):
                reply = await call.post("/workflows", document)
                assert reply.status == 422, (name, document)
                assert name in reply.json["problems"][0]["message"]
