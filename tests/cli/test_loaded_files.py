"""What `tenuto worker` says of files that changed since it loaded them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tenuto.cli.loaded_files import LoadedFiles
from tests.api.test_serve_command import _read_until


def test_a_file_that_changed_since_it_was_loaded_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / "mailer.py", tmp_path / "other.py"]
    for file in files:
        file.write_text("x = 1")
        module = ModuleType(file.stem)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, f"loaded_{file.stem}", module)
    loaded = LoadedFiles.of_process()
    assert loaded.changed() == []
    files[0].write_text("x = 10")
    assert loaded.changed() == [str(files[0])]
    files[1].unlink()
    assert loaded.changed() == [str(files[1])]
    assert loaded.changed() == []


@pytest.mark.slow
def test_a_worker_that_reloads_runs_what_was_saved_last_and_ends_with_its_parent(
    tmp_path: Path,
) -> None:
    tasks = tmp_path / "tasks.py"
    tasks.write_text("from tenuto import task\n@task\ndef first(value: object) -> None: ...\n")
    words = ("worker", "tasks.py", "--reload", "--server", "http://127.0.0.1:1")
    with subprocess.Popen(
        [sys.executable, "-m", "tenuto", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        _read_until(process, "on first;")
        tasks.write_text("def (")
        _read_until(process, "Still running what was there before")
        tasks.write_text("from tenuto import task\n@task\ndef second(value: object) -> None: ...\n")
        _read_until(process, "on second;")
        process.kill()
        # What it has started ends by itself: nothing holds the stream any more.
        assert process.stderr is not None
        assert "stopped" in process.stderr.read()
