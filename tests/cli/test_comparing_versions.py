"""`tenuto workflows diff`: what differs between two versions, or a version and a file."""

from __future__ import annotations

from tenuto import Tenuto
from tenuto.cli.definition_diff import diff_definitions
from tenuto.model.json import Object
from tests.cli.conftest import Terminal

FIRST: Object = {
    "id": "o",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "x", "transitions": {"default": "b"}},
        {"stepId": "b", "type": "TASK", "taskId": "y", "retry": {"maxAttempts": 4}},
    ],
}
SECOND: Object = {
    "id": "o",
    "steps": [
        {"stepId": "a", "type": "TASK", "taskId": "x", "transitions": {"default": "c"}},
        {"stepId": "c", "type": "DELAY", "duration": "PT1H", "transitions": {"default": "b"}},
        {"stepId": "b", "type": "TASK", "taskId": "y", "retry": {"maxAttempts": 5}},
    ],
    "options": {"timeout": "PT5M"},
}


async def two_versions(app: Tenuto) -> None:
    await app.deploy(FIRST)
    await app.deploy(SECOND)


def test_steps_edges_and_settings_that_differ_are_named(terminal: Terminal) -> None:
    terminal.past(two_versions)
    shown = terminal.call("workflows", "diff", "o").out
    assert shown.startswith("o@1 → o@2: 1 step added, 1 step changed, 3 edges changed")
    for line in ("+ step c", "~ step b", "+ edge a → c", "- edge a → b", "maxAttempts: 4 → 5"):
        assert line in shown, shown
    found = terminal.call("workflows", "diff", "o", "2", "1", "-o", "json").json
    assert (found["from"], found["to"], found["removed"]) == (2, 1, ["c"])
    terminal.write("o.json", FIRST)
    back = terminal.call("workflows", "diff", "o", "--file", "o.json").out
    assert back.startswith("o@2 → o.json: 1 step removed")
    same = terminal.call("workflows", "diff", "o", "1", "1").out
    assert "are the same workflow" in same
    document = terminal.call("workflows", "export", "o").out
    terminal.write("again.json", document)
    assert "o@2" in terminal.call("deploy", "again.json").out, "it makes no new version"
    missing = terminal.call("workflows", "diff", "o", "7")
    assert (missing.code, "TEN-2002" in missing.err) == (3, True)
    both = terminal.call("workflows", "diff", "o", "1", "2", "--file", "o.json")
    assert both.code == 2


def test_the_same_workflow_in_another_form_has_no_difference() -> None:
    other: Object = {
        "id": "o",
        "nodes": [
            {"id": "a", "type": "task", "config": {"taskId": "x"}},
            {"id": "b", "type": "task", "config": {"taskId": "y", "retry": {"maxAttempts": 4}}},
        ],
        "edges": [{"upstreamNodeID": "a", "downstreamNodeID": "b"}],
    }
    assert diff_definitions(FIRST, other).is_empty


def test_a_version_that_is_valid_no_more_is_compared_as_a_document() -> None:
    [change] = diff_definitions({"steps": [], "note": 1}, {"steps": [], "note": 2}).settings
    assert (change.path, change.before, change.after) == ("$.note", 1, 2)
