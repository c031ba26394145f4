"""One thread does many jobs, and is gone a moment after the last."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from tenuto.engine.definitions import idling_thread
from tenuto.engine.definitions.idling_thread import IdlingThread


def done_in(thread: IdlingThread) -> threading.Thread:
    said: SimpleQueue[threading.Thread] = SimpleQueue()
    thread.put(lambda: said.put(threading.current_thread()))
    return said.get(timeout=60)


def test_jobs_that_come_one_after_the_other_have_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # However busy the processor is, the thread does not end between two jobs.
    monkeypatch.setattr(idling_thread, "IDLE_SECONDS", 60)
    thread = IdlingThread("some")
    first = done_in(thread)
    assert first.daemon
    assert {done_in(thread) for _ in range(20)} == {first}
    monkeypatch.setattr(idling_thread, "IDLE_SECONDS", 0.001)
    assert done_in(thread) is first
    first.join(60)
    assert not first.is_alive()


def test_a_thread_without_jobs_ends_and_the_next_job_has_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idling_thread, "IDLE_SECONDS", 0.001)
    thread = IdlingThread("some")
    first = done_in(thread)
    first.join(60)
    assert not first.is_alive()
    assert done_in(thread) is not first
