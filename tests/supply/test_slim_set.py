"""Workers and clients run without the packages of the server and of the stores."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.architecture.source_tree import ROOT
from tests.supply.constraints import at_run_time
from tests.supply.worker_pins import worker_pins

SLIM = ROOT / "requirements" / "worker.txt"

_REFUSING = """
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))  # None: an import of it fails
"""
_COMMAND = f"{_REFUSING}\nfrom tenuto.cli import main\nmain()"
_CLIENT = f"""{_REFUSING}
from tenuto import Client, Context, Retry, SyncClient, TaskError, Workspace, task, verify_signature
print(SyncClient("http://127.0.0.1:8484"))
try:
    from tenuto import Tenuto
except ModuleNotFoundError as error:
    print(*error.__notes__)
"""


def refused() -> set[str]:
    """The modules of what an installation has beyond the slim set."""
    slim = set(re.findall(r"^([a-z0-9.-]+)==", SLIM.read_text(encoding="utf-8"), re.MULTILINE))
    others = at_run_time() - slim
    return {
        module
        for module, providers in metadata.packages_distributions().items()
        if {canonicalize_name(each) for each in providers} <= others
    }


def command(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", program, ",".join(sorted(refused())), *arguments]


def test_the_slim_set_has_neither_server_nor_stores() -> None:
    assert SLIM.read_text(encoding="utf-8") == worker_pins()
    named = {"apsw", "asyncpg", "cryptography", "prometheus_client", "rpds", "starlette", "uvicorn"}
    assert named <= refused()


@pytest.mark.slow
def test_a_client_is_there_and_an_engine_says_what_to_install() -> None:
    said = subprocess.run(command(_CLIENT), check=True, capture_output=True, text=True)
    assert "SyncClient" in said.stdout
    assert "pip install tenuto" in said.stdout


@pytest.mark.slow
def test_a_worker_works(tmp_path: Path) -> None:
    tasks = "from tenuto import Context, task\n\n@task\ndef pack(ctx: Context) -> None: ...\n"
    (tmp_path / "tasks.py").write_text(tasks, encoding="utf-8")
    arguments = command(_COMMAND, "worker", "tasks.py", "--server", "http://127.0.0.1:1")
    with subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr is not None
        assert "on pack" in worker.stderr.readline()
        assert "TEN-4001" in worker.stderr.readline()  # No server is there: it goes on trying.
        worker.terminate()
        assert "stopped" in worker.stderr.read()
    assert worker.returncode == 0


@pytest.mark.slow
def test_a_command_of_the_server_says_what_to_install(tmp_path: Path) -> None:
    said = subprocess.run(
        command(_COMMAND, "serve"), cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert (said.returncode, "TEN-4042" in said.stderr) == (5, True), said.stderr
    assert "pip install tenuto" in said.stderr
    assert "Traceback" not in said.stderr
