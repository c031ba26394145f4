"""Turns bounds of the shipped modules down, for as long as a run lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tests.kit.simulator.scenario import Knobs


@contextmanager
def turned(knobs: Knobs) -> Iterator[None]:
    with (
        patch("tenuto.engine.draft.SNAPSHOT_EVERY", knobs.snapshot_every),
        patch("tenuto.engine.drafting.MOST_ROWS", knobs.most_rows),
        patch("tenuto.engine.intake.MOST_TAKEN", knobs.most_rows),
        patch("tenuto.engine.looking_back.PAGE", knobs.page),
        patch("tenuto.engine.recovery.BATCH", knobs.page),
        patch("tenuto.engine.timekeeper.BATCH", knobs.page),
    ):
        yield
