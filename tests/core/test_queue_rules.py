"""Rules of the queue: what evaluating all of them for one instance may take."""

from __future__ import annotations

from collections.abc import Generator

from tenuto.core import Plan
from tenuto.core.queue_rules import STEPS_OF_RULES, Judged, matching
from tenuto.definition import compile_definition
from tenuto.expr import Steps
from tenuto.expr.bounds import FUEL
from tenuto.model.slots import QueueRule

PLAN = Plan(
    compile_definition({"id": "w", "steps": [{"stepId": "s", "type": "TASK", "taskId": "t"}]})
)


def made_by(parts: Generator[None, None, list[QueueRule]]) -> list[QueueRule]:
    """What is returned in the end, without pauses."""
    while True:
        try:
            next(parts)
        except StopIteration as end:
            found: list[QueueRule] = end.value
            return found


def test_rules_take_so_many_steps_together_and_those_behind_match_nothing() -> None:
    judged = Judged(workflow="w", version=1, input={"list": [*range(FUEL // 2)]})
    rules = [
        QueueRule(id=f"r{number}", when="ctx.input.list.map(x => x + 1).length > 0")
        for number in range(100)
    ]
    steps = Steps()
    found = made_by(matching(rules, judged, PLAN, steps))
    assert 5 < len(found) < len(rules)
    assert found == rules[: len(found)]
    assert steps.taken < STEPS_OF_RULES + 2 * FUEL
    assert steps.taken < 6 * FUEL


def test_a_hundred_rules_that_look_at_little_all_match() -> None:
    judged = Judged(workflow="w", version=1, input={"list": [*range(300)]})
    rules = [
        QueueRule(id=f"r{number}", when="ctx.input.list.includes(299)") for number in range(100)
    ]
    assert made_by(matching(rules, judged, PLAN, Steps())) == rules


def test_there_is_a_pause_before_each_rule() -> None:
    judged = Judged(workflow="w", version=1, input={"list": [*range(300)]})
    rules = [QueueRule(id=f"r{number}", when="ctx.input.list.includes(-1)") for number in range(10)]
    steps = Steps()
    taken = [steps.taken for _ in matching(rules, judged, PLAN, steps)]
    assert len(taken) == len(rules)
    assert len({*taken}) == len(rules), "each pause is behind the work of another rule"
