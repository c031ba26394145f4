"""Code is parsed when a definition is saved, with all its other problems, and within bounds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tenuto import Tenuto
from tenuto.built_in.protocol import Call, CodeFault, NotChecked
from tenuto.compose import build_executors
from tenuto.definition.code_places import CodePlace
from tenuto.engine.definitions.code_checks import CodeChecks
from tenuto.model.errors import InvalidDefinition
from tenuto.model.graph import JavaScript
from tenuto.model.json import JSON, Object
from tests.tasks.stage import HandClock

pytestmark = pytest.mark.asyncio

FAULT = CodeFault(message="unexpected token", line=2, column=3)


class Checker:
    """Finds fault with code that is `bad`; each check takes so long by the clock."""

    queues = False
    calls_of_tenant = None

    def __init__(self, clock: HandClock | None = None, seconds: float = 0.0) -> None:
        self.clock = clock
        self.seconds = seconds
        self.checked: list[str] = []

    async def check(self, code: str, *, tenant: str) -> Sequence[CodeFault]:
        assert tenant
        self.checked.append(code)
        if self.clock is not None:
            self.clock.advance(self.seconds)
        if code == "dead":
            raise NotChecked("no process starts")
        return [FAULT] if "bad" in code else []

    async def run(self, call: Call) -> JSON:
        raise AssertionError(call)

    async def close(self) -> None: ...


def places(*code: str) -> list[CodePlace]:
    return [CodePlace(f"$.steps[{index}].code", each) for index, each in enumerate(code)]


async def test_all_code_of_a_document_is_parsed_and_each_text_once() -> None:
    checker = Checker()
    checks = CodeChecks(HandClock(), checker)
    found = await checks.problems(places("a", "bad", "a", "b", "bad 2"), "t")
    assert [(each.code, each.path, each.severity) for each in found] == [
        ("TEN-1600", "$.steps[1].code", "error"),
        ("TEN-1600", "$.steps[4].code", "error"),
    ]
    assert found[0].message == "the code does not parse: unexpected token (line 2, column 3)"
    assert await checks.problems(places("a", "b"), "t") == []
    assert checker.checked == ["a", "bad", "b", "bad 2"]


async def test_code_that_takes_too_long_together_is_left_with_a_warning() -> None:
    clock = HandClock()
    checker = Checker(clock, seconds=2.0)
    found = await CodeChecks(clock, checker).problems(places(*"abcdefgh"), "t")
    assert [(each.code, each.path, each.severity) for each in found] == [
        ("TEN-1604", "$.steps[6].code", "warning")
    ]
    assert len(checker.checked) == 6


async def test_without_a_process_nothing_is_refused() -> None:
    checker = Checker()
    found = await CodeChecks(HandClock(), checker).problems(places("dead", "bad"), "t")
    assert [(each.code, each.severity) for each in found] == [("TEN-1604", "warning")]
    assert await CodeChecks(HandClock()).problems(places("bad"), "t") == []


def document(code: str, **more: JSON) -> Object:
    step: Object = {"stepId": "a", "type": "JAVASCRIPT", "code": code, **more}
    return {"id": "w", "steps": [step]}


async def test_a_definition_with_code_that_does_not_parse_is_refused_with_its_other_problems() -> (
    None
):
    executors = {**build_executors(), JavaScript: Checker()}
    async with Tenuto(executors=executors) as app:
        with pytest.raises(InvalidDefinition) as refused:
            await app.deploy(document("bad", colour=1))
        assert [each.code for each in refused.value.problems] == ["TEN-1012", "TEN-1600"]
        with pytest.raises(InvalidDefinition):
            await app.test_runs.start(document("bad"))
        assert await app.deploy(document("good")) == 1
        valid = await app.definitions.checked(document("bad"))
        assert valid.definition is None
        assert [each.code for each in valid.problems] == ["TEN-1600"]


async def test_what_is_saved_is_saved_again_although_it_no_longer_parses() -> None:
    executors = {**build_executors(), JavaScript: Checker()}
    store = "memory://"
    async with Tenuto(store, executors=executors) as app:
        assert await app.deploy(document("fine")) == 1
        checker = executors[JavaScript]
        assert isinstance(checker, Checker)
        app.engine.plans.code = CodeChecks(app.engine.clock, _Stricter())
        assert await app.deploy(document("fine")) == 1
        with pytest.raises(InvalidDefinition):
            await app.deploy(document("fine too"))


class _Stricter(Checker):
    async def check(self, code: str, *, tenant: str) -> Sequence[CodeFault]:
        return [FAULT]


async def test_the_sandbox_names_line_and_column() -> None:
    async with Tenuto() as app:
        with pytest.raises(InvalidDefinition) as refused:
            await app.deploy(document("const a = 1;\nreturn a +;"))
        [problem] = refused.value.problems
        assert (problem.code, problem.path) == ("TEN-1600", "$.steps[0].code")
        assert "(line 2, column 11)" in problem.message
