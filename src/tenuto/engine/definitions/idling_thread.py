"""A thread that does jobs, and ends by itself once there have been none for a moment.

To start one takes the event loop until the new thread has had the interpreter, which others want
as well: milliseconds, where each job of many has a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeAlias

from tenuto.model.call_stack import with_call_room

IDLE_SECONDS = 1.0
Job: TypeAlias = Callable[[], None]
"""It raises nothing."""


class IdlingThread:
    """It ends with the process: a stop does not wait for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._is_there = False

    def put(self, job: Job) -> None:
        """Do a job after those before it; RuntimeError where no thread can be started."""
        with self._lock:
            if not self._is_there:
                # Of its own: one that has ended may not be the last to have seen the old one.
                self._jobs = SimpleQueue()
                given = (self._work, self._jobs)
                run, name = with_call_room, self._name
                threading.Thread(target=run, args=given, name=name, daemon=True).start()
                self._is_there = True
            self._jobs.put(job)

    def _work(self, jobs: SimpleQueue[Job]) -> None:
        while True:
            try:
                job = jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if jobs.empty():
                        self._is_there = False
                        return
                continue
            job()
            # Or its document would live until the next one comes.
            del job
