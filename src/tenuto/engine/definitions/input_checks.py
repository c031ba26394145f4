"""Checks the inputs of starts: costly ones where they delay no other request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from tenuto.core import Plan
from tenuto.definition import input_problems
from tenuto.definition.schemas import quick_input_problems
from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.engine.definitions.start_checks import (
    json_problems,
    refuse_unknown_tasks,
    unfit_input,
)
from tenuto.engine.settings import Settings
from tenuto.model.errors import Problem
from tenuto.model.graph import Definition
from tenuto.model.json import JSON
from tenuto.model.policy import Limits
from tenuto.tasks.registry import Registry

Check: TypeAlias = Callable[[Definition, JSON, str], Awaitable[tuple[Problem, ...]]]
"""All problems of an input by the schema of a definition, for a tenant."""


class InputChecks:
    """The checks of inputs before a start."""

    def __init__(self, values: LargeDocuments) -> None:
        """`values` has a thread for large ones."""
        self._values = values
        self.costly: Check = self._in_thread
        """Makes costly checks; a service has a process for them."""

    async def refuse_unfit(
        self, plan: Plan, input: JSON, settings: Settings, tasks: Registry, *, tenant: str
    ) -> None:
        """InvalidInput where an instance of a plan could not be started with this input here."""
        known = tasks if settings.unknown_tasks == "fail" else None
        check = partial(_problems, plan, input, settings.limits, known)
        problems = await self._found(plan, input, check, tenant)
        if problems:
            raise unfit_input(plan, problems)

    async def problems(
        self, plan: Plan, input: JSON, limits: Limits, *, tenant: str
    ) -> list[Problem]:
        """All problems of an input, whatever its tasks are."""
        return await self._found(plan, input, partial(_problems, plan, input, limits), tenant)

    async def _found(
        self, plan: Plan, input: JSON, check: Callable[[], list[Problem] | None], tenant: str
    ) -> list[Problem]:
        problems = await self._values.check(input, check, tenant=tenant)
        if problems is None:
            problems = list(await self.costly(plan.definition, input, tenant))
        return problems

    async def _in_thread(
        self, definition: Definition, input: JSON, tenant: str
    ) -> tuple[Problem, ...]:
        check = partial(input_problems, definition, input)
        return await self._values.read(LARGE, check, tenant=tenant, may_refuse=False)


def _problems(
    plan: Plan, input: JSON, limits: Limits, tasks: Registry | None = None
) -> list[Problem] | None:
    """All problems of an input; None where finding them is costly.

    `tasks`: all that there are; None: others are known elsewhere.
    """
    if tasks is not None:
        refuse_unknown_tasks(plan, tasks)
    problems = json_problems(input, limits.input_bytes, "$")
    if problems:
        return problems
    found = quick_input_problems(plan.definition, input)
    return None if found is None else list(found)
