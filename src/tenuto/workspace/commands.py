"""Commands to an instance, made of checked values: the same for every back end."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.core import Plan
from tenuto.definition.schemas import given_problems
from tenuto.definition.task_places import task_places
from tenuto.engine.definitions.declared_tasks import with_registered
from tenuto.engine.definitions.start_checks import json_problems
from tenuto.model.checks import aware, refuse_bad_text
from tenuto.model.edited import EditedInput
from tenuto.model.errors import InvalidInput
from tenuto.model.inputs import CancelAsked, CompensationRetryAsked, PauseAsked, RetryAsked
from tenuto.model.json import JSON
from tenuto.model.policy import Limits
from tenuto.model.task_definition import TaskDefinition
from tenuto.store.protocol import Parts

_decode = msgspec.json.Decoder(TaskDefinition).decode


class Commands(NamedTuple):
    """Makes the commands of one principal; InvalidInput for values that cannot be stored."""

    by: str
    limits: Limits

    def cancel(self, reason: str | None, *, should_compensate: bool = True) -> CancelAsked:
        """Cancel it."""
        refuse_bad_text(reason=reason)
        return CancelAsked(by=self.by, reason=reason, should_compensate=should_compensate)

    def pause(self, reason: str | None, until: datetime | None) -> PauseAsked:
        """Pause it."""
        refuse_bad_text(reason=reason)
        return PauseAsked(by=self.by, reason=reason, until=aware(until, "until"))

    def retry(self, edited: EditedInput | None) -> RetryAsked:
        """Retry what failed, one task of it with another input."""
        if edited is not None:
            refuse_bad_text(stepId=edited.step_id, iteration=edited.iteration)
            self._refuse_bad_edit(edited.input)
        return RetryAsked(by=self.by, edited=edited)

    def retry_compensation(
        self, step: str, iteration: str, input: JSON | UnsetType = UNSET
    ) -> CompensationRetryAsked:
        """Retry a compensation."""
        refuse_bad_text(step=step, iteration=iteration)
        if input is not UNSET:
            self._refuse_bad_edit(input)
        return CompensationRetryAsked(by=self.by, step_id=step, iteration=iteration, input=input)

    def _refuse_bad_edit(self, input: JSON) -> None:
        problems = json_problems(input, self.limits.input_bytes, "$.input")
        if problems:
            raise InvalidInput("the edited input cannot be taken", problems)


async def refuse_misfit(
    store: Parts, tenant: str, plan: Plan, asked: RetryAsked | CompensationRetryAsked
) -> None:
    """InvalidInput where an edited input is not what the declared task of its step takes."""
    if isinstance(asked, CompensationRetryAsked):
        step, input = asked.step_id, asked.input
    elif asked.edited is not None:
        step, input = asked.edited.step_id, asked.edited.input
    else:
        return
    if isinstance(input, UnsetType):
        return
    for place in task_places(plan.definition):
        if place.step_id == step:
            await refuse_bad_task_input(store, tenant, place.task_id, input)


async def refuse_bad_task_input(store: Parts, tenant: str, task_id: str, input: JSON) -> None:
    """InvalidInput where the task is declared and takes other inputs."""
    row = await store.tasks.get(tenant, task_id)
    if row is None:
        return
    problems = given_problems(with_registered(_decode(row.document)).input_schema, input)
    if problems:
        raise InvalidInput(f"the input does not fit the task {task_id}", problems)
