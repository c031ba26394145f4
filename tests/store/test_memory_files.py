"""A store in memory is in no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.store.memory.cold_database import ColdDatabase


def test_cold_records_in_memory_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ColdDatabase().session.rows("suspects") == []
    assert list(tmp_path.iterdir()) == []
