"""What `tenuto worker` says of files that changed since it loaded them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tenuto.cli.loaded_files import LoadedFiles


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
