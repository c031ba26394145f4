"""A command loads what it needs and nothing else: whoever types it waits for the rest in vain."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from tenuto.cli.program import program
from tests.cli.whole import WHOLE

STORES = frozenset({"apsw", "asyncpg"})
SERVING = frozenset({"cryptography", "jwt", "prometheus_client", "starlette", "uvicorn"})
TRACING = frozenset({"opentelemetry"})
ASKING = frozenset({"aiohttp"})
DECIDING = frozenset(
    {"jsonschema_rs", "tenuto.core", "tenuto.definition", "tenuto.engine", "tenuto.expr"}
)
SHOWING = frozenset({"pydantic", "rich"})
EVERYTHING = STORES | SERVING | TRACING | ASKING | DECIDING | SHOWING

_COMMAND = "from tenuto.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
_LOADED = "import sys\nsys.stderr.write('\\nloaded: ' + ' '.join(sys.modules))"


def loaded(code: str, folder: Path, *arguments: str) -> set[str]:
    """The modules of a process that has run the code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{_LOADED}", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(done.stderr.rpartition("\nloaded: ")[2].split())


@pytest.mark.parametrize("asked", ["--version", "--help"])
def test_what_tenuto_is_and_can_is_said_at_once(asked: str, tmp_path: Path) -> None:
    modules = loaded(_COMMAND, tmp_path, asked)
    assert "tenuto.cli.program" in modules
    assert modules & EVERYTHING == set()


def test_the_help_of_a_command_loads_nothing_of_what_it_does(tmp_path: Path) -> None:
    modules = loaded(_COMMAND, tmp_path, "list", "--help")
    assert modules & EVERYTHING == set()
    commands = {each for each in modules if each.startswith("tenuto.cli.commands.")}
    assert commands == {f"tenuto.cli.commands.{each}" for each in ("group", "instances", "options")}


@pytest.mark.parametrize("name", [*WHOLE.commands])
def test_a_command_that_is_named_is_the_same_without_the_others(name: str) -> None:
    alone = get_command(program([name]))
    assert isinstance(alone, TyperGroup)
    assert [*alone.commands] == [name]
    assert shape_of(alone.commands[name]) == shape_of(WHOLE.commands[name])


def shape_of(command: Any) -> object:  # noqa: ANN401 - of the parser
    """The parameters and the help of a command, and of those inside of it."""
    parameters = [(each.name, each.opts, each.required) for each in command.params]
    inside = {name: shape_of(each) for name, each in getattr(command, "commands", {}).items()}
    return command.help, parameters, inside


def test_a_command_on_a_store_loads_that_kind_of_store_alone(tmp_path: Path) -> None:
    modules = loaded(_COMMAND, tmp_path, "list", "--store", "sqlite:///none.db")
    assert "apsw" in modules
    assert "pydantic" not in modules, "every value is plain"
    assert modules & (SERVING | TRACING | ASKING | {"asyncpg"}) == set()


def test_what_asks_a_server_loads_no_store_and_nothing_that_serves(tmp_path: Path) -> None:
    modules = loaded(
        "import tenuto.cli.views.instances, tenuto.cli.backends.server, tenuto.client", tmp_path
    )
    assert "aiohttp" in modules
    assert modules & (STORES | SERVING | TRACING) == set()


def test_the_package_is_imported_without_what_it_has(tmp_path: Path) -> None:
    modules = loaded("import tenuto", tmp_path)
    assert {each for each in modules if each.startswith("tenuto")} == {"tenuto"}
