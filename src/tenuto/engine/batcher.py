"""Answers questions that arrive at the same time with one query.

Like a turn, a query takes the questions that arrived while the last one was under way: a burst
costs little more than one question, and no question waits for others to arrive, unless its asker
has time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")

MOST = 500
"""The most questions of one query."""


class Batcher(Generic[Question, Answer]):
    """Each question is answered by a query that began after it was asked."""

    def __init__(
        self, look: Callable[[Sequence[Question]], Awaitable[Sequence[Answer]]], most: int = MOST
    ) -> None:
        """`look` answers all questions, in their order."""
        self._look = look
        self._most = most
        self._asked: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._looking: asyncio.Task[None] | None = None
        self._is_urgent = False
        """Whether a question that waits is to be answered at once."""

    async def ask(self, question: Question) -> Answer:
        """The answer; or the error of the query, which other questions may have caused."""
        return await self.join(question)

    def join(self, question: Question, *, has_time: bool = False) -> asyncio.Future[Answer]:
        """The same, to be awaited.

        A question that has time waits for the next one that has none, for `hurry`, or for as many
        others as fill a query.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append((question, answer))
        if not has_time or len(self._asked) >= self._most:
            self.hurry()
        return answer

    def hurry(self) -> None:
        """Answer all questions now."""
        if not self._asked:
            return
        self._is_urgent = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._answer_all())

    async def _answer_all(self) -> None:
        while self._asked and self._is_urgent:
            batch, self._asked = self._asked[: self._most], self._asked[self._most :]
            self._is_urgent = bool(self._asked)
            waiting = [(question, answer) for question, answer in batch if not answer.done()]
            try:
                answers = await self._look([question for question, _ in waiting])
            except asyncio.CancelledError:
                # Also what waits for the next query: nothing would begin it.
                asked, self._asked = self._asked, []
                for _, answer in [*waiting, *asked]:
                    answer.cancel()
                raise
            except Exception as error:  # noqa: BLE001 - callers handle it
                for _, answer in waiting:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for (_, answer), found in zip(waiting, answers, strict=True):
                if not answer.done():
                    answer.set_result(found)
