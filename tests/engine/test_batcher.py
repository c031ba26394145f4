"""Questions that come at the same time are put with one look."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tenuto.engine.batcher import Batcher


class Library:
    """Answers with the number of the look; each look waits until it is let go."""

    def __init__(self) -> None:
        self.looks: list[list[str]] = []
        self.gate = asyncio.Event()
        self.fault: BaseException | None = None

    async def look(self, questions: Sequence[str]) -> list[tuple[str, int]]:
        self.looks.append(list(questions))
        number = len(self.looks)
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        return [(question, number) for question in questions]


async def settled() -> None:
    """Let everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_whoever_asks_during_a_look_is_answered_by_the_next_one_with_the_others() -> None:
    library = Library()
    together = Batcher(library.look)
    first = asyncio.ensure_future(together.ask("a"))
    await settled()
    later = [asyncio.ensure_future(together.ask(each)) for each in "bcb"]
    await settled()
    assert library.looks == [["a"]]
    library.gate.set()
    assert await first == ("a", 1)
    assert await asyncio.gather(*later) == [("b", 2), ("c", 2), ("b", 2)]
    assert library.looks == [["a"], ["b", "c", "b"]]


@pytest.mark.asyncio
async def test_one_look_takes_no_more_than_it_may() -> None:
    library = Library()
    library.gate.set()
    together = Batcher(library.look, most=2)
    answers = await asyncio.gather(*(together.ask(each) for each in "abcde"))
    assert [number for _, number in answers] == [1, 1, 2, 2, 3]


@pytest.mark.asyncio
async def test_a_look_that_fails_is_told_to_those_who_were_part_of_it_and_to_nobody_else() -> None:
    library = Library()
    together = Batcher(library.look)
    library.fault = OSError("away")
    both = [asyncio.ensure_future(together.ask(each)) for each in "ab"]
    await settled()
    library.gate.set()
    assert [type(each) for each in await asyncio.gather(*both, return_exceptions=True)] == [
        OSError,
        OSError,
    ]
    library.fault = None
    assert await together.ask("c") == ("c", 2)


@pytest.mark.asyncio
async def test_who_does_not_want_to_know_any_more_holds_up_nobody() -> None:
    library = Library()
    together = Batcher(library.look)
    first = asyncio.ensure_future(together.ask("a"))
    await settled()
    second, third = (asyncio.ensure_future(together.ask(each)) for each in "bc")
    await settled()
    first.cancel()
    second.cancel()
    await settled()
    library.gate.set()
    assert await third == ("c", 2)
    assert library.looks == [["a"], ["c"]]


@pytest.mark.asyncio
async def test_a_question_that_has_time_is_answered_with_the_next_one_that_has_none() -> None:
    library = Library()
    library.gate.set()
    together = Batcher(library.look)
    patient = [together.join(each, has_time=True) for each in "ab"]
    await settled()
    assert library.looks == []
    assert await together.ask("c") == ("c", 1)
    assert await asyncio.gather(*patient) == [("a", 1), ("b", 1)]


@pytest.mark.asyncio
async def test_questions_that_have_time_are_answered_when_they_fill_a_query_or_in_a_hurry() -> None:
    library = Library()
    library.gate.set()
    together = Batcher(library.look, most=2)
    full = [together.join(each, has_time=True) for each in "ab"]
    assert await asyncio.gather(*full) == [("a", 1), ("b", 1)]
    later = together.join("c", has_time=True)
    await settled()
    assert library.looks == [["a", "b"]]
    together.hurry()
    assert await later == ("c", 2)
    together.hurry()
    await settled()
    assert len(library.looks) == 2


@pytest.mark.asyncio
async def test_nobody_waits_for_a_next_look_after_one_that_was_broken_off() -> None:
    library = Library()
    library.fault = asyncio.CancelledError()
    together = Batcher(library.look)
    first = asyncio.ensure_future(together.ask("a"))
    await settled()
    second = asyncio.ensure_future(together.ask("b"))
    await settled()
    library.gate.set()
    await settled()
    assert (first.cancelled(), second.cancelled()) == (True, True)
