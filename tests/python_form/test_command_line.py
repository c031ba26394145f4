"""`validate`, `run` and `show` take Python files like JSON files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import DOUBLE, Terminal

pytestmark = pytest.mark.slow

FLOWS = """
from tenuto import task, when, workflow

@task
def twice(number: int) -> int:
    return number * 2

@workflow("doubling")
def double_it(number: int) -> int:
    return twice(number)

@workflow
def quadruple(number: int) -> int:
    return twice(twice(number))
"""

FAULTY = """
from tenuto import sleep, workflow

@workflow
def one(order: dict) -> None:
    sleep("soon")

@workflow
def two(order: dict) -> None:
    sleep("later")
"""

EARLY = """
from tenuto import workflow

@workflow
def early(order: dict) -> None:
    if order["big"]:
        pass
"""


TWICE = """
from tenuto import task

@task
def charge(order: dict) -> dict:
    return order

@task(name="charge")
def charge_again(order: dict) -> dict:
    return order
"""

TWO_EARLY = """
from tenuto import workflow

@workflow
def first(order: dict) -> None:
    if order["big"]:
        pass

@workflow
def second(order: dict) -> None:
    for each in order["items"]:
        pass
"""

NAMESAKES = """
from tenuto import task, workflow

@task
def twice(number: int) -> int:
    return number * 2

@workflow("doubling")
def first(number: int) -> int:
    return twice(number)

@workflow("doubling")
def second(number: int) -> int:
    return twice(number)
"""

PROGRAM = """
import asyncio
from tenuto import Tenuto, workflow

async def main() -> None: ...

asyncio.run(main())
"""


@pytest.fixture
def shell(tmp_path: Path) -> Terminal:
    terminal = Terminal(tmp_path)
    terminal.write("flows.py", FLOWS)
    return terminal


def test_a_workflow_is_run_by_its_name_or_its_id(shell: Terminal) -> None:
    for name in ("double_it", "doubling"):
        ended = shell.run("run", f"flows.py:{name}", "--input", "21")
        assert (ended.code, ended.json) == (0, 42), ended.err
    assert shell.run("run", "flows.py:quadruple", "-i", "3").json == 12


def test_an_input_of_another_type_exits_2_before_anything_is_started(shell: Terminal) -> None:
    ended = shell.run("run", "flows.py:double_it", "--input", '"21"')
    assert ended.code == 2
    assert "TEN-2101  $" in ended.err
    assert 'is not of type "integer"' in ended.err
    assert shell.run("list", "-o", "json").json["items"] == []


def test_of_several_workflows_one_has_to_be_named(shell: Terminal) -> None:
    for arguments in (("run", "flows.py"), ("show", "flows.py")):
        ended = shell.run(*arguments)
        assert ended.code == 2
        assert "TEN-1118" in ended.err
        assert "flows.py:double_it" in ended.err


@pytest.mark.parametrize("name", ["quadrupel", "nothing"])
def test_a_name_that_is_not_there_is_refused_with_what_is(shell: Terminal, name: str) -> None:
    ended = shell.run("validate", f"flows.py:{name}")
    assert ended.code == 2
    assert "`quadruple`" in ended.err


def test_a_file_without_workflows_says_so(shell: Terminal) -> None:
    ended = shell.run("validate", "tasks.py")
    assert ended.code == 2
    assert "no workflow function" in ended.err


def test_a_file_that_is_not_there_exits_3(shell: Terminal) -> None:
    ended = shell.run("validate", "flow.py:double_it")
    assert ended.code == 3
    assert "Did you mean flows.py?" in ended.err


def test_every_workflow_of_a_file_is_validated(shell: Terminal) -> None:
    ended = shell.run("validate", "flows.py")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "✓ doubling: 2 steps, valid",
        "✓ quadruple: 3 steps, valid",
    ]


def test_all_problems_of_all_workflows_are_told_with_their_lines(shell: Terminal) -> None:
    shell.write("faulty.py", FAULTY)
    ended = shell.run("validate", "faulty.py")
    assert ended.code == 2
    assert "faulty.py:6" in ended.err
    assert "faulty.py:10" in ended.err
    assert 'sleep("later")' in ended.err
    problems = shell.run("validate", "faulty.py", "-o", "json").json["problems"]
    assert [each["path"] for each in problems] == ["faulty.py:6", "faulty.py:10"]


def test_a_value_that_is_used_too_early_is_told_with_its_line(shell: Terminal) -> None:
    shell.write("early.py", EARLY)
    ended = shell.run("validate", "early.py")
    assert ended.code == 2
    assert "TEN-1104" in ended.err
    assert "early.py:6" in ended.err
    assert "with when(order['big']):" in ended.err


def test_every_function_that_cannot_be_described_is_told(shell: Terminal) -> None:
    shell.write("early.py", TWO_EARLY)
    ended = shell.run("validate", "early.py")
    assert ended.code == 2
    assert "TEN-1104  early.py:6" in ended.err
    assert "TEN-1105  early.py:11" in ended.err


def test_two_workflows_of_one_id_are_told(shell: Terminal) -> None:
    shell.write("namesakes.py", NAMESAKES)
    ended = shell.run("validate", "namesakes.py")
    assert ended.code == 2
    assert "`doubling`: namesakes.py:8, namesakes.py:12" in ended.err


def test_two_tasks_of_one_name_are_told_with_the_place_of_the_second(shell: Terminal) -> None:
    shell.write("twice.py", TWICE)
    ended = shell.run("validate", "twice.py")
    assert ended.code == 2
    assert "TEN-1801  twice.py:8" in ended.err
    assert "twice.py:4 and twice.py:8" in ended.err
    assert '@task(name="…")' in ended.err


def test_a_file_that_starts_itself_is_told_where_to_put_that(shell: Terminal) -> None:
    shell.write("program.py", PROGRAM)
    ended = shell.run("validate", "program.py")
    assert ended.code == 2
    assert "TEN-1803  program.py:7" in ended.err
    assert 'if __name__ == "__main__":' in ended.err


def test_what_is_outstanding_goes_on_with_the_tasks_of_a_python_file(shell: Terminal) -> None:
    ended = shell.run("run", "flows.py:double_it", "--input", "21", "-o", "json")
    assert ended.json["status"] == "COMPLETED"
    assert shell.run("run", "flows.py:double_it", "--outstanding").code == 0


def test_a_definition_is_shown_as_a_graph_as_json_and_as_a_picture(shell: Terminal) -> None:
    graph = shell.run("show", "flows.py:quadruple").out.splitlines()
    assert graph[0] == "quadruple"
    assert [line.split() for line in graph[1:]] == [
        ["STEP", "DOES", "AFTER"],
        ["twice", "task", "twice"],
        ["twice_2", "task", "twice", "twice"],
        ["end", "end", "twice_2"],
    ]
    document = shell.run("show", "flows.py:quadruple", "--as", "json").json
    assert [node["id"] for node in document["nodes"]] == ["twice", "twice_2", "end"]
    assert shell.run("show", "flows.py:quadruple", "-o", "json").json == document
    picture = shell.run("show", "flows.py:quadruple", "--as", "mermaid").out
    assert picture.splitlines()[0] == "flowchart TD"
    assert "n1 --> n2" in picture


def test_a_json_file_is_shown_in_the_same_ways(shell: Terminal) -> None:
    shell.write("double.json", DOUBLE)
    assert "twice  task double" in shell.run("show", "double.json").out
    assert shell.run("show", "double.json", "--as", "json").json["steps"] == DOUBLE["steps"]
    assert 'n1["twice<br/>task double"]' in shell.run("show", "double.json", "--as", "mermaid").out


ALL_KINDS = """
from tenuto import task, wait_event, workflow

@task
def charge_all_kinds(order_id: str, amount: float) -> str: ...

@workflow
async def one(order: dict) -> None: ...

@workflow
def two(order: dict) -> None:
    charge_all_kinds(order, amuont=1)
    wait_event("paid", timeout="soon")
    nowhere(order)

@workflow
def three(order: dict) -> None:
    wait_event("paid", where="event..x")

@workflow
def four(order: dict) -> None:
    later_all_kinds(1, 2)

@workflow("three")
def five(order: dict) -> None:
    later_all_kinds(order)

@task
def later_all_kinds(order: dict) -> None: ...
"""


def test_every_problem_of_a_file_is_told_in_one_round(shell: Terminal) -> None:
    shell.write("flows.py", ALL_KINDS)
    ended = shell.call("validate", "flows.py", "-o", "json")
    assert [(each["code"], each["path"]) for each in ended.json["problems"]] == [
        ("TEN-1101", "flows.py:7"),
        ("TEN-1110", "flows.py:12"),
        ("TEN-1015", "flows.py:13"),
        ("TEN-1102", "flows.py:14"),
        ("TEN-1030", "flows.py:18"),
        ("TEN-1110", "flows.py:22"),
        ("TEN-1118", "flows.py"),
    ]
    told = ended.json["problems"][1]["message"]
    assert "missing a required argument: 'amount'" in told
    assert "did you mean 'amount'?" in told
