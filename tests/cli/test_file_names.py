"""Files of a project may be called as they like: none stands in for a library of the program."""

from __future__ import annotations

import pytest

from tests.cli.beside import told
from tests.cli.conftest import PATIENCE, Terminal

pytestmark = pytest.mark.slow

NAMES = ("rich", "typer", "msgspec", "asyncio")
FLOW = """
import helper
from tenuto import task, workflow

@task(isolation="process")
def greet_{name}(who: str) -> str:
    return helper.greet(who)

@workflow("of_{name}")
def flow(who: str) -> str:
    return greet_{name}(who)
"""


@pytest.fixture
def project(terminal: Terminal) -> Terminal:
    terminal.write("helper.py", "def greet(who): return f'hello {who}'")
    for name in NAMES:
        terminal.write(f"{name}.py", FLOW.replace("{name}", name))
    return terminal


def test_a_definition_may_have_the_name_of_a_library(project: Terminal) -> None:
    ended = project.run("validate", *(f"{name}.py" for name in NAMES))
    assert (ended.code, ended.out.count("valid")) == (0, len(NAMES)), ended.err
    ran = project.run("run", "rich.py", "--input", '"you"')
    assert (ran.code, ran.out.strip()) == (0, '"hello you"'), ran.err


def test_an_error_in_a_file_with_the_name_of_a_library_is_printed(project: Terminal) -> None:
    project.write("rich.py", "import helper\nhelper.missing()")
    ended = project.run("validate", "rich.py")
    assert ended.code == 2
    assert "TEN-1803" in ended.err
    assert "rich.py:2" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.soak
def test_files_with_names_of_libraries_are_served(project: Terminal) -> None:
    dev = project.start("dev", *(f"{name}.py" for name in NAMES), "--port", "0")
    with dev:
        try:
            told(dev, "serving http://")
        finally:
            dev.terminate()
            _, said = dev.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
