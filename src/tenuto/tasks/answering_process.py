"""A child process that answers questions, in bytes: seen from its parent, and from within.

What input can make long is done there without the interpreter of the parent, and can be killed.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeAlias

from tenuto.tasks.child_process import Child, ChildDied
from tenuto.tasks.parent_pipes import ParentPipes

_Reply: TypeAlias = "queue.SimpleQueue[bytes | ChildDied]"


class AnsweringProcess:
    """A module that is run as a child process, from the first question on.

    One that has died, or was killed, is replaced for the next question. A thread of its own starts
    it, with which it would end.
    """

    def __init__(self, program: str) -> None:
        """`program` is a module that calls `answer_questions`."""
        self._program = program
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._inbox: queue.SimpleQueue[tuple[tuple[bytes, ...], _Reply] | None] = (
            queue.SimpleQueue()
        )
        self._is_killed = False
        self._is_closed = False
        self._hears = self._wakes = -1

    @property
    def pid(self) -> int | None:
        """The id of the process, while there is one."""
        return None if self._child is None else self._child.pid

    def ask(self, *question: bytes) -> bytes:
        """Its answer to a question, which may be in parts; ChildDied where it ends before.

        The calling thread waits meanwhile; one question is asked at a time.
        """
        reply: _Reply = queue.SimpleQueue()
        with self._lock:
            if self._is_closed:
                raise ChildDied("it is closed")
            if self._thread is None:
                self._thread = self._started()
            self._is_killed = False
            self._inbox.put((question, reply))
        answer = reply.get()
        if isinstance(answer, ChildDied):
            raise answer
        return answer

    def kill(self) -> None:
        """Kill it in the midst of its answer; what waits for that gets ChildDied."""
        with self._lock:
            if self._thread is not None and not self._is_closed:
                self._wake_to_kill()

    def close(self) -> None:
        """Kill it; nothing is asked after that."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._thread is None:
                return
            self._wake_to_kill()
            self._inbox.put(None)
        self._thread.join()

    def _started(self) -> threading.Thread:
        self._hears, self._wakes = os.pipe()
        for descriptor in (self._hears, self._wakes):
            os.set_blocking(descriptor, False)
        thread = threading.Thread(target=self._live, name=f"asks {self._program}", daemon=True)
        thread.start()
        return thread

    def _wake_to_kill(self) -> None:
        self._is_killed = True
        # Where the pipe is full, it is about to be read anyway.
        with suppress(BlockingIOError):
            os.write(self._wakes, b"!")

    def _live(self) -> None:
        while (asked := self._inbox.get()) is not None:
            question, reply = asked
            try:
                reply.put(self._answer(question))
            except Exception as error:  # noqa: BLE001 - an answer is waited for
                self._drop()
                reply.put(error if isinstance(error, ChildDied) else ChildDied(repr(error)))
        self._drop()
        os.close(self._hears)
        os.close(self._wakes)

    def _answer(self, question: tuple[bytes, ...]) -> bytes:
        if self._child is not None and not self._child.is_alive:
            self._drop()
        if self._child is None:
            self._child = Child(self._hears, self._program, goes_after=True)
        self._child.send(self._end_if_killed, *question)
        return self._child.receive(self._end_if_killed)

    def _end_if_killed(self, child: Child) -> None:
        if self._is_killed:
            child.kill()
            raise ChildDied("it was killed")

    def _drop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


def answer_questions(answer: Callable[[bytes], bytes]) -> NoReturn:
    """Answer the parent's questions until it ends: the main program of an answering process."""
    pipes = ParentPipes.of_program()
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    # Ends also in the midst of an answer.
    pipes.listen(questions.put, lambda: os._exit(0))
    while True:
        pipes.send(answer(questions.get()))
