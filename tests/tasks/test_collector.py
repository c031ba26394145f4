from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tenuto import Tenuto, app as app_module
from tenuto.store.memory import MemoryStore
from tenuto.tasks.collector import OFTEN, SELDOM, TOGETHER, Collector


@pytest.fixture(autouse=True)
def nothing_is_spared() -> Iterator[None]:
    threshold = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


def test_what_is_there_is_spared_until_the_last_engine_is_gone() -> None:
    collector = Collector()
    collector.spare()
    assert gc.get_freeze_count()
    collector.spare()
    collector.spare_no_more()
    assert gc.get_freeze_count()
    collector.spare_no_more()
    assert not gc.get_freeze_count()


def test_more_comes_together_until_the_last_engine_is_gone() -> None:
    collector = Collector()
    gc.set_threshold(700, 11, 12)
    collector.spare()
    assert gc.get_threshold() == (TOGETHER, OFTEN, SELDOM)
    collector.spare()
    collector.spare_no_more()
    assert gc.get_threshold() == (TOGETHER, OFTEN, SELDOM)
    collector.spare_no_more()
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("threshold", [(0, 10, 10), (TOGETHER * 2, 5, 5)])
def test_a_collector_that_is_off_or_looks_seldom_stays_so(threshold: tuple[int, int, int]) -> None:
    collector = Collector()
    gc.set_threshold(*threshold)
    collector.spare()
    assert gc.get_threshold() == threshold
    collector.spare_no_more()
    assert gc.get_threshold() == threshold


def test_a_threshold_that_the_program_sets_meanwhile_stays() -> None:
    collector = Collector()
    collector.spare()
    gc.set_threshold(1_234, 5, 6)
    collector.spare_no_more()
    assert gc.get_threshold() == (1_234, 5, 6)


def test_a_program_that_spares_by_itself_is_left_alone() -> None:
    collector = Collector()
    gc.freeze()
    collector.spare()
    collector.spare_no_more()
    # Fewer, if something of them ends meanwhile in a thread that an earlier test began.
    assert gc.get_freeze_count()


@pytest.mark.asyncio
async def test_an_app_that_is_closed_leaves_the_collector_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Other tests leave apps behind that were never closed, as a process does that is killed.
    monkeypatch.setattr(app_module, "COLLECTOR", Collector())
    async with Tenuto(MemoryStore()) as app:
        assert gc.get_freeze_count()
    assert not gc.get_freeze_count()
    await app.close()
    async with Tenuto(MemoryStore()):
        assert gc.get_freeze_count()
