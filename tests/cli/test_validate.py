from __future__ import annotations

import pytest

from tests.cli.conftest import DOUBLE, Terminal

WRONG = """{
  "steps": [
    { "stepId": "a", "type": "TASK", "taskId": "t", "retrys": 3,
      "transitions": { "default": "b" } },
    { "stepId": "a", "type": "TSK" }
  ]
}
"""


def test_a_valid_definition_exits_0(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    ended = terminal.call("validate", "double.json")
    assert (ended.code, ended.out) == (0, "✓ double: 1 step, valid\n")


def test_all_problems_are_told_at_once_with_code_line_and_advice(terminal: Terminal) -> None:
    terminal.write("wrong.json", WRONG)
    ended = terminal.call("validate", "wrong.json")
    assert ended.code == 2
    for code, place, path in (
        ("TEN-1012", "wrong.json:3:63", "$.steps[0].retrys"),
        ("TEN-1040", "wrong.json:4:35", "$.steps[0].transitions.default"),
        ("TEN-1021", "wrong.json:5:17", "$.steps[1].stepId"),
        ("TEN-1022", "wrong.json:5:30", "$.steps[1].type"),
    ):
        assert any(
            code in line and place in line and path in line for line in ended.err.splitlines()
        ), (code, ended.err)
    assert "Did you mean" in ended.err


def test_json_has_the_names_of_the_specification(terminal: Terminal) -> None:
    terminal.write("wrong.json", WRONG)
    ended = terminal.call("validate", "wrong.json", "-o", "json")
    assert ended.code == 2
    assert ended.json["valid"] is False
    assert all(
        set(each) == {"code", "path", "message", "advice", "severity", "file", "line", "column"}
        for each in ended.json["problems"]
    )


def test_broken_json_is_told_with_line_and_column(terminal: Terminal) -> None:
    terminal.write("broken.json", '{\n  "steps": [,]\n}')
    ended = terminal.call("validate", "broken.json")
    assert ended.code == 2
    assert "TEN-1001" in ended.err
    assert "broken.json:2:13" in ended.err
    assert terminal.call("validate", "broken.json", "-o", "json").json["valid"] is False


def test_a_file_that_is_not_there_exits_3_with_the_nearest_name(terminal: Terminal) -> None:
    terminal.write("double.json", DOUBLE)
    ended = terminal.call("validate", "duoble.json")
    assert ended.code == 3
    assert "Did you mean double.json?" in ended.err


YAML = """# doubles a number
steps:
  - stepId: double
    type: TASK
    taskId: double
    errorHandling: no
    input: "{{steps.duoble.output}}"
"""


def test_a_yaml_file_is_read_by_its_name_and_its_problems_have_their_lines(
    terminal: Terminal,
) -> None:
    terminal.write("double.yaml", YAML)
    ended = terminal.call("validate", "double.yaml")
    assert ended.code == 2
    assert "$.steps[0].errorHandling  double.yaml:6:20" in ended.err
    assert "$.steps[0].input  double.yaml:7:12" in ended.err
    assert "Did you mean `double`?" in ended.err
    terminal.write("unquoted.yml", YAML.replace('"', ""))
    ended = terminal.call("validate", "unquoted.yml")
    assert ended.code == 2
    assert "unquoted.yml:7:13" in ended.err
    assert "Put it in quotes" in ended.err
    terminal.write("good.yml", "steps: [{stepId: double, type: TASK, taskId: double}]")
    assert "double" in terminal.call("show", "good.yml").out


@pytest.mark.parametrize(
    ("name", "text", "line", "column"),
    [
        ("a.json", '{"steps": [\n  {"stepId": "a", "type": "TASKS"}]}', 2, 27),
        ("a.json", '{"steps": [\n  {"stepId": }]}', 2, 14),
        ("a.yaml", "steps:\n  - stepId: a\n    type: TASKS\n", 3, 11),
        ("a.yml", "steps:\n  - stepId: [a\n", 3, 1),
        (
            "a.py",
            "from tenuto import workflow\n@workflow\ndef f(x):\n    if x: return 1\n",
            4,
            None,
        ),
    ],
)
def test_each_problem_in_json_has_its_file_line_and_column(
    terminal: Terminal, name: str, text: str, line: int, column: int | None
) -> None:
    (terminal.folder / name).write_text(text)
    for words in (["validate", name], ["deploy", name]):
        view = terminal.call(*words, "-o", "json").json
        problems = view["problems"] if "problems" in view else view["error"]["problems"]
        assert {(each["file"], each["line"], each["column"]) for each in problems} == {
            (name, line, column)
        }


def test_a_task_that_is_nearly_a_known_one_is_a_warning(terminal: Terminal) -> None:
    """A worker with that task may come later, so that it is saved nevertheless."""
    document = {"id": "a", "steps": [{"stepId": "a", "type": "TASK", "taskId": "duble"}]}
    terminal.write("a.json", document)
    for command in ("validate", "deploy"):
        said = terminal.call(command, "a.json")
        assert said.code == 0, said.err
        assert "Did you mean double?" in said.err
    document["steps"] = [{"stepId": "a", "type": "TASK", "taskId": "far_away"}]
    terminal.write("a.json", document)
    assert terminal.call("validate", "a.json").err == ""


TYPED = """
from tenuto import task

@task
def charge_validated(order_id: str, amount: float = 0) -> str: ...
"""


def test_inputs_that_a_task_does_not_take_are_told_with_their_place(terminal: Terminal) -> None:
    terminal.write("tasks.py", TYPED)
    given = {"order_id": 5, "amuont": 1}
    step = {"stepId": "a", "type": "TASK", "taskId": "charge_validated", "input": given}
    terminal.write("order.json", {"id": "order", "steps": [step]})
    ended = terminal.call("validate", "order.json", "-o", "json")
    assert (ended.code, ended.json["valid"]) == (0, True)
    found = {each["path"]: each for each in ended.json["problems"]}
    assert found.keys() == {"$.steps[0].input.order_id", "$.steps[0].input"}
    assert found["$.steps[0].input"]["advice"].startswith("Did you mean `amount`?")
    assert all(each["severity"] == "warning" and each["line"] for each in found.values())


def test_a_file_that_cannot_be_read_does_not_hide_the_problems_of_others(
    terminal: Terminal,
) -> None:
    terminal.write("broken.py", "def f(:\n")
    terminal.write("wrong.json", WRONG)
    terminal.write("double.json", DOUBLE)
    ended = terminal.call("validate", "broken.py", "wrong.json", "double.json")
    assert ended.code == 2
    for part in ("broken.py:1", "wrong.json:3:63", "wrong.json:5:30"):
        assert part in ended.err, ended.err
    deployed = terminal.call("deploy", "broken.py", "wrong.json", "double.json")
    assert deployed.code == 2
    assert deployed.err.endswith(ended.err)


def test_code_that_does_not_parse_is_found_with_its_place(terminal: Terminal) -> None:
    text = (
        "steps:\n  - stepId: a\n    type: JAVASCRIPT\n"
        "    code: |\n      const a = 1;\n      return a +;\n"
    )
    terminal.write("code.yaml", text)
    ended = terminal.call("validate", "code.yaml")
    assert ended.code == 2
    assert "TEN-1600  $.steps[0].code  code.yaml:4:11" in ended.err
    assert "(line 2, column 11)" in ended.err
    terminal.write("code.yaml", text.replace("a +", "a"))
    assert terminal.call("validate", "code.yaml").code == 0
