"""The checker shares no code with the product, reads any size, and can be run by hand."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from tests.checker.history import ID, Fields, graph, log, task
from tests.checker.shapes import linear
from tests.kit import checker
from tests.kit.checker import counted, digest, run_of
from tests.kit.checker.__main__ import main
from tests.kit.checker.expression import Unknown, evaluate
from tests.kit.checker.graph import read
from tests.kit.checker.moments import duration_ms, moment_ms
from tests.kit.checker.patterns import fits

HOME = Path(checker.__file__).parent


def test_it_imports_nothing_but_itself_and_the_standard_library() -> None:
    for path in HOME.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                known = name.split(".")[0] in sys.stdlib_module_names
                assert known or name.startswith("tests.kit.checker"), f"{path.name}: {name}"


def test_by_hand_it_says_that_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(linear()), encoding="utf-8")
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == "every invariant holds\n"


def test_by_hand_it_prints_the_shortest_excerpt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = linear()
    [instance] = run.pop("instances")
    instance["history"][2]["nodeId"] = "b"
    file = tmp_path / "run.jsonl"
    file.write_text(f"{json.dumps(run)}\n{json.dumps(instance)}\n", encoding="utf-8")
    assert main([str(file)]) == 1
    assert capsys.readouterr().out.startswith(f"I14 {ID}@3: b starts with 0 taken")


def test_it_counts_what_quotas_are_made_of() -> None:
    counts = counted(run_of(linear()))
    assert counts["COMPLETED"] == counts["instances"] == 1
    assert counts["NODE_DISPATCHED"] == 2


def test_equal_logs_have_equal_digests_whatever_their_ids_and_times() -> None:
    def told(id: str, begin: int) -> Fields:
        history = log().after(begin).started({"me": id}).sleeps("z", 5)
        return {"history": history.rows}

    one, other = told("i-1", 0), told("i-2", 77)
    assert digest(one["history"], "i-1") == digest(other["history"], "i-2")
    assert digest(one["history"], "i-1") != digest(other["history"][:1], "i-2")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("PT1M", 60_000), ("P1DT0.5S", 86_400_500), (250, 250), ("P1M", None), ("{{ctx.x}}", None)],
)
def test_durations_are_read(text: object, milliseconds: int | None) -> None:
    assert duration_ms(text) == milliseconds


def test_moments_are_read_with_their_zone_only() -> None:
    assert moment_ms("1970-01-01T00:00:01.5Z") == 1500
    assert moment_ms("1970-01-01T00:00:01") is None


@pytest.mark.parametrize(
    ("subscription", "pattern", "taken"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.**", "a", False),
        ("a.**", "a.b.c", True),
        ("**.c", "a.b.c", True),
    ],
)
def test_patterns_take_words(subscription: str, pattern: str, *, taken: bool) -> None:
    assert fits(subscription, pattern) is taken


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("ctx.a.b === 1", True),
        ("ctx.a.c.d === undefined", True),
        ("ctx.a.c > 1 || !ctx.a.b", False),
        ("(ctx.l[1] >= 3) && ctx.l.length === 2", True),
        ("ctx.a.b === '1'", False),
        ("ctx.n == null && -1 < ctx.a.b", True),
    ],
)
def test_small_conditions_are_read(expression: str, *, value: bool) -> None:
    assert evaluate(expression, {"ctx": {"a": {"b": 1}, "l": [2, 3]}}) is value


@pytest.mark.parametrize("expression", ["ctx.l.map(x => x)", "nobody.x", "1 + 1", "ctx.a ? 1 : 2"])
def test_larger_conditions_are_left_alone(expression: str) -> None:
    with pytest.raises(Unknown):
        evaluate(expression, {"ctx": {"a": 1, "l": []}})


def test_both_spellings_of_edges_and_all_handles_are_read() -> None:
    document = graph(task("a"), task("b"), edges="a>b")
    document["edges"].append({"source": "a", "target": "b", "sourceHandle": "error"})
    steps = [
        {
            "stepId": "a",
            "type": "TASK",
            "taskId": "work",
            "transitions": {"default": "b", "error": ["b"]},
        },
        {"stepId": "b", "type": "TASK", "taskId": "work"},
    ]
    one, other = read(document), read({"id": "d", "steps": steps})
    assert {(e.source, e.handle, e.target) for e in one.nodes["b"].incoming} == {
        (e.source, e.handle, e.target) for e in other.nodes["b"].incoming
    }
    assert one.roots == other.roots == {"a"}
