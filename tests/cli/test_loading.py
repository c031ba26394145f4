"""The garbage collector while a command loads its modules."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from tenuto.cli.backends.engine import engine
from tenuto.cli.loading import begin_loading, end_loading
from tenuto.tasks.collector import TOGETHER


@pytest.mark.asyncio
async def test_a_command_collects_seldom_until_it_has_an_engine(tmp_path: Path) -> None:
    end_loading()  # commands of earlier tests may have begun to load
    usual = gc.get_threshold()
    begin_loading()
    assert gc.get_threshold()[0] > TOGETHER
    async with engine(f"sqlite:///{tmp_path / 'store.db'}"):
        assert gc.get_threshold()[0] == TOGETHER
    assert gc.get_threshold() == usual
