from __future__ import annotations

import asyncio
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from tenuto import ports
from tenuto.ports import SystemClock, SystemIds

NOW = datetime(2026, 11, 15, 20, 12, 14, 123_000, tzinfo=UTC)


def test_now_is_utc_in_whole_milliseconds() -> None:
    now = SystemClock().now()
    assert now.tzinfo is UTC
    assert now.microsecond % 1000 == 0


def test_now_does_not_go_back_when_the_machine_s_clock_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = [NOW, NOW - timedelta(hours=1), NOW + timedelta(microseconds=1999)]

    class Moved:
        @staticmethod
        def now(zone: object) -> datetime:
            return moments.pop(0)

    monkeypatch.setattr(ports, "datetime", Moved)
    clock = SystemClock()
    assert [clock.now() for _ in range(3)] == [NOW, NOW, NOW + timedelta(milliseconds=1)]


@pytest.mark.asyncio
async def test_a_timer_fires_after_its_time_unless_it_was_cancelled() -> None:
    clock = SystemClock()
    fired = asyncio.Event()
    clock.call_later(0, pytest.fail).cancel()
    before = clock.ticks()
    clock.call_later(0.001, fired.set)
    await fired.wait()
    assert clock.ticks() > before
    await clock.sleep(0)


def test_instance_ids_are_uuids_of_version_7() -> None:
    made = uuid.UUID(SystemIds().instance_id(NOW))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == int(NOW.timestamp() * 1000)


def test_instance_ids_sort_by_when_they_were_made() -> None:
    ids = SystemIds()
    made = [ids.instance_id(NOW + timedelta(milliseconds=n // 1000)) for n in range(3000)]
    assert made == sorted(set(made))


def test_short_ids_differ() -> None:
    ids = SystemIds()
    made = {ids.short() for _ in range(1000)}
    assert len(made) == 1000
    assert {len(each) for each in made} == {16}


@pytest.mark.asyncio
async def test_waiting_for_an_event_ends_with_it_or_with_its_time() -> None:
    clock = SystemClock()
    event = asyncio.Event()
    assert not await clock.wait(event, 0.001)
    event.set()
    assert await clock.wait(event, 60)


def test_a_child_process_makes_other_ids_than_its_parent() -> None:
    """Randomness is read ahead, and a child must not have what its parent read."""
    ids = SystemIds()
    ids.short()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writes, ids.short().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reads, 100).decode() != ids.short()
    os.close(reads)
    os.close(writes)


def test_no_two_ids_are_the_same_however_many_threads_make_them() -> None:
    ids = SystemIds()
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: ids.short(), range(5_000)))
    assert len(set(made)) == 5_000
