"""Asks another process about what is large in requests, one question at a time."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial

from tenuto.api.large_documents.messages import Answer, read_answer
from tenuto.api.problems import Refusal
from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.tasks.answering_process import AnsweringProcess
from tenuto.tasks.child_process import ChildDied

log = logging.getLogger("tenuto.api")

PROGRAM = "tenuto.api.large_documents.process"
NOT_READ = "TEN-4022"


class Asking:
    """A process that is started with the first question; tenants take turns."""

    def __init__(self, *, seconds: float, program: str = PROGRAM) -> None:
        """`seconds`: after how long it is killed in the midst of an answer."""
        self._seconds = seconds
        self._process = AnsweringProcess(program)
        self._turns = LargeDocuments(0)
        self._is_ended = False

    @property
    def pid(self) -> int | None:
        """The id of the process, while there is one."""
        return self._process.pid

    async def ask(
        self, make: Callable[[], tuple[bytes, ...]], tenant: str, *, may_refuse: bool
    ) -> Answer:
        """The answer to the question that `make` makes, in a thread; Overloaded, if it may be."""
        ask = partial(self._ask, make)
        answer = read_answer(await self._turns.read(0, ask, tenant=tenant, may_refuse=may_refuse))
        if answer.refused is not None:
            raise answer.refused.error()
        if answer.broken is not None:
            raise RuntimeError(f"the process for large requests has failed:\n{answer.broken}")
        return answer

    def refuse_all(self) -> None:
        """Refuse what is asked and what waits, since the service stops; it is asked no more."""
        self._is_ended = True
        self._process.kill()

    async def close(self) -> None:
        """End the process; it is asked nothing after that."""
        await asyncio.to_thread(self._process.close)

    def _ask(self, make: Callable[[], tuple[bytes, ...]]) -> bytes:
        """In a thread, which waits for the answer."""
        if self._is_ended:
            raise Refusal(503, NOT_READ, "the service stops before it is read")
        timer = threading.Timer(self._seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            return self._process.ask(*make())
        except (ChildDied, OSError) as death:
            message = f"the process for large requests has ended: {death}"
            log.warning(message)
            raise Refusal(503, NOT_READ, message) from None
        finally:
            timer.cancel()
