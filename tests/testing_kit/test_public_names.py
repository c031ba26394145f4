"""What other people's tests are written against."""

from __future__ import annotations

import inspect
import subprocess
import sys

from tenuto import testing
from tenuto.testing import Engine, Instance, crash_test

ENGINE = [
    "calendar",
    "calls",
    "close",
    "crash_once",
    "crashed",
    "deploy",
    "instances",
    "now",
    "orders",
    "publish",
    "recover",
    "schedule",
    "skip",
    "start",
    "stub",
    "stub_step",
    "ticks",
    "twin",
    "writes",
]
INSTANCE = [
    "approvals",
    "calls",
    "cancel",
    "decide",
    "definition",
    "error",
    "exists",
    "finished",
    "history",
    "output",
    "path",
    "pause",
    "rerun",
    "resume",
    "retry",
    "state",
    "status",
    "timeline",
    "undone",
    "until",
    "waiting_for",
    "why_it_rests",
    "workflow",
]


def public(kind: type) -> list[str]:
    return sorted(name for name in vars(kind) if not name.startswith("_"))


def test_the_names_of_the_test_kit() -> None:
    """`tenuto.testing`: `Engine.start / stub / publish / skip / crash_once / recover / orders`,
    `instance.until / finished / path`, `crash_test`; pinned by a test.
    """
    assert testing.__all__ == [
        "Call",
        "Decide",
        "Engine",
        "Instance",
        "InvariantBroken",
        "Tested",
        "crash_test",
    ]
    assert public(Engine) == ENGINE
    assert public(Instance) == INSTANCE


def test_a_crash_test_says_everything_by_name() -> None:
    parameters = inspect.signature(crash_test).parameters.values()
    by_place = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    by_name = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    assert by_place == ["workflow", "invariant"]
    assert by_name == [
        "input",
        "events",
        "engine",
        "prepare",
        "kinds",
        "runs",
        "seed",
        "repeat",
        "expect",
    ]


def test_the_product_does_not_load_the_test_kit() -> None:
    code = "import sys, tenuto.app, tenuto.cli; print('tenuto.testing' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_plugin_costs_a_project_without_workflows_nothing() -> None:
    code = "import sys, tenuto.testing.plugin; print('tenuto.app' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
