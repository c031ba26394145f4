"""Hostile programs are contained, each within its time and one second; then all is as before."""

from __future__ import annotations

import asyncio

import pytest

from tests.javascript.corpus import Program, programs, some, surprise
from tests.javascript.stage import PATIENT, Bounds, sandbox, value
from tests.kit.breadth import breadth

_AT_ONCE = 2
ALL = len(programs())


def test_the_corpus_is_large() -> None:
    assert len({each.name for each in programs()}) == ALL >= 120


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("switches", "chosen"),
    [
        ({}, some(breadth(16, ALL))),
        ({"namespaces": False, "own_user": False}, some(breadth(6, ALL), breadth(3, 0))),
        (
            {"namespaces": False, "own_user": False, "call_filter": False},
            some(breadth(6, ALL), breadth(5, 0)),
        ),
    ],
    ids=["all-protections", "no-namespaces", "limits-alone"],
)
async def test_hostile_programs_are_contained(switches: Bounds, chosen: list[Program]) -> None:
    turns = asyncio.Semaphore(_AT_ONCE)
    async with sandbox(**switches) as box:

        async def one(program: Program) -> str | None:
            async with turns:
                return await surprise(box, program)

        found = await asyncio.gather(*map(one, chosen))
        assert [each for each in found if each is not None] == []
        # The pool answers, to the tenant of the programs and to another one.
        for tenant in ("hostile", "other"):
            code = "return [typeof leaked, ({}).leaked ?? null, JSON.stringify([1])]"
            answer = await box.run(code, tenant=tenant, limits=PATIENT)
            assert value(answer) == ["undefined", None, "[1]"]
        figures = box.figures()
        assert (figures.busy, figures.waiting) == (0, 0)


@pytest.mark.asyncio
async def test_what_one_call_does_to_its_globals_is_not_there_for_the_next() -> None:
    polluting = """
    Object.prototype.leaked = 1; Array.prototype.map = () => 'forged'; globalThis.kept = {};
    JSON.stringify = () => '"forged"'; Symbol.for('kept'); console.log = null;
    Math.random = () => 4;
    Object.freeze = (x) => x; Promise.prototype.then = null;
    return 1;
    """
    code = """
    console.log('here');
    return [({}).leaked ?? null, [1].map((x) => x), typeof kept, JSON.stringify({a: 1}),
      Math.random() < 1, Object.isFrozen(ctx)];
    """
    async with sandbox(processes=1, of_tenant=1, spares=0) as box:
        for _ in range(3):
            await box.run(polluting, limits=PATIENT)
            outcome = await box.run(code, ctx={}, limits=PATIENT)
            assert value(outcome) == [None, [1], "undefined", '{"a":1}', True, True]
            assert [each.text for each in outcome.console] == ["here"]
        assert box.figures().started == 1
