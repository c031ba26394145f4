"""Answers questions that arrive at the same time with one query.

Like a turn, a query takes the questions that arrived while the last one was under way: a burst
costs little more than one question, and no question waits for others to arrive.
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

    async def ask(self, question: Question) -> Answer:
        """The answer; or the error of the query, which other questions may have caused."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append((question, answer))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._answer_all())
        return await answer

    async def _answer_all(self) -> None:
        while self._asked:
            batch, self._asked = self._asked[: self._most], self._asked[self._most :]
            waiting = [(question, answer) for question, answer in batch if not answer.done()]
            try:
                answers = await self._look([question for question, _ in waiting])
            except asyncio.CancelledError:
                for _, answer in waiting:
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
