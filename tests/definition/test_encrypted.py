"""What `options.encrypt` names cannot be searched by."""

from __future__ import annotations

import pytest

from tenuto.definition import check
from tenuto.model.encrypted import is_encrypted
from tenuto.model.json import JSON
from tests.definition.values import Value

STEPS: list[Value] = [{"stepId": "a", "type": "TASK", "taskId": "t"}]


@pytest.mark.parametrize(
    ("encrypt", "path", "named"),
    [
        (True, "anything", True),
        (False, "anything", False),
        (None, "anything", False),
        ({"fields": ["card"]}, "card", True),
        ({"fields": ["card"]}, "card.number", True),
        ({"fields": ["ctx.card.number"]}, "card", True),
        ({"fields": ["items[0].id"]}, "items[0]", True),
        ({"fields": ["items[0].id"]}, "items[1].id", False),
        ({"fields": ["card"]}, "cards", False),
        (["card"], "card", True),
        ({"fields": []}, "card", False),
    ],
)
def test_a_path_names_what_is_around_and_inside_of_it(
    encrypt: JSON, path: str, *, named: bool
) -> None:
    assert is_encrypted(encrypt, path) is named


def test_each_searchable_value_that_is_encrypted_is_refused() -> None:
    options: Value = {
        "encrypt": {"fields": ["card"]},
        "searchable": ["id", "card.number", "card"],
    }
    for name in ("options", "workflowOptions"):
        found = check({"id": "w", "steps": STEPS, name: options}).problems
        assert [(each.code, each.path) for each in found] == [
            ("TEN-1680", f"$.{name}.searchable[1]"),
            ("TEN-1680", f"$.{name}.searchable[2]"),
        ]


@pytest.mark.parametrize(
    ("encrypt", "code", "path"),
    [
        (1, "TEN-1010", ""),
        ("yes", "TEN-1010", ""),
        ({}, "TEN-1011", ""),
        ({"fields": [1]}, "TEN-1010", ".fields[0]"),
        ({"fields": ["a"], "more": 1}, "TEN-1012", ".more"),
    ],
)
def test_other_values_are_refused(encrypt: Value, code: str, path: str) -> None:
    found = check({"id": "w", "steps": STEPS, "options": {"encrypt": encrypt}}).problems
    assert [(each.code, each.path) for each in found] == [(code, f"$.options.encrypt{path}")]
