"""Names that nothing can have, on every store: refused like any other mistake, never a fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec import Struct
from msgspec.structs import fields

from tenuto import Tenuto
from tenuto.api.operation import Operation
from tenuto.api.registry import OPERATIONS
from tests.api.conftest import served, tasks
from tests.api.examples import Example, Things, example_of
from tests.api.test_access_matrix import ask
from tests.kit.postgres_database import fresh_database

STRANGE = ("a\0b", "x" * 5_000, "' OR 1=1 --\r\n%s", "\U0010ffff\u202e{0}")


def strange_requests(operation: Operation, strange: str) -> Iterator[Example]:
    """The operation with something strange in its path, in each query parameter and field."""
    words = operation.path.split("/")
    yield example_of(operation, Things("default", "", dict.fromkeys(words, strange)))
    usual = example_of(operation, Things("default", "", {}))
    if operation.query is not None:
        for each in fields(operation.query):
            path = f"{usual.path.partition('?')[0]}?{each.encode_name}={quote(strange)}"
            yield usual._replace(path=path)
    request = operation.request
    if isinstance(request, type) and issubclass(request, Struct) and isinstance(usual.body, dict):
        for each in fields(request):
            for value in (strange, [strange]):
                yield usual._replace(body={**usual.body, each.encode_name: value})


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_nothing_can_be_called_is_never_a_fault(kind: str, tmp_path: Path) -> None:
    url = await fresh_database() if kind == "postgres" else f"sqlite:///{tmp_path / 's.db'}"
    async with served(app=Tenuto(url, tasks=tasks())) as call:
        # The first key would close the door.
        wanted = [each for each in OPERATIONS if each.name != "create_key"]
        for operation in wanted:
            for strange in STRANGE:
                for example in strange_requests(operation, strange):
                    answer = await ask(call, operation, example, {})
                    assert answer.status < 500, (operation.name, example, answer)
