"""Rules of the queue: which of them an instance matches, and what they make of its request."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from tenuto.core.plan import Plan
from tenuto.expr import CountedScope, ExpressionError, Steps, compile_expression
from tenuto.model.durations import iso
from tenuto.model.json import JSON
from tenuto.model.slots import QueueRule

ROOTS = frozenset({"ctx", "workflow"})
"""What the expression of a rule can name."""

STEPS_OF_RULES = 40_000
"""What all rules take together for one instance, which every start is: those behind that match
nothing. Some ten milliseconds: a start that a request asks for spends them in parts, before its
turn; one that an event, a schedule or a parent causes in its turn."""


class Judged(Struct, frozen=True, kw_only=True):
    """What rules see of an instance."""

    workflow: str
    version: int
    input: JSON
    priority: int = 0
    deadline: datetime | None = None
    correlation_id: str | None = None
    user: str = ""

    @property
    def roots(self) -> Mapping[str, JSON]:
        """The roots of the expression."""
        return {
            "ctx": {"input": self.input},
            "workflow": {
                "id": self.workflow,
                "version": self.version,
                "input": self.input,
                "instance": {
                    "priority": self.priority,
                    "deadline": None if self.deadline is None else iso(self.deadline),
                    "correlationId": self.correlation_id,
                    "user": self.user,
                },
            },
        }


def matching(
    rules: Iterable[QueueRule], judged: Judged, plan: Plan, steps: Steps
) -> Generator[None, None, list[QueueRule]]:
    """The rules that an instance matches; an expression that fails matches nothing.

    In parts: it pauses before each rule.
    """
    roots, most = judged.roots, steps.taken + STEPS_OF_RULES
    found: list[QueueRule] = []
    for rule in rules:
        if steps.taken > most:
            break
        yield
        if _holds(rule, CountedScope(roots, steps), plan):
            found.append(rule)
    return found


def matches(when: str, judged: Judged, steps: Steps) -> bool:
    """Whether an instance matches an expression."""
    try:
        return compile_expression(when, roots=ROOTS).truthy(CountedScope(judged.roots, steps))
    except ExpressionError:
        return False


def _holds(rule: QueueRule, scope: CountedScope, plan: Plan) -> bool:
    try:
        return plan.expression(rule.when).truthy(scope)
    except ExpressionError:
        return False
