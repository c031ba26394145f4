"""One instance of a test: advance it, inspect it, control it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from msgspec import UNSET, UnsetType

from tenuto.app import Tenuto
from tenuto.core.ending import output_of
from tenuto.core.view import error_view, state_of
from tenuto.engine.turns.held import Held
from tenuto.events import fits
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Given, Object, as_json
from tenuto.model.status import NodeStatus, Status
from tenuto.tasks.retry import Length, read_length
from tenuto.testing.calls import Call
from tenuto.testing.task_mocks import Named
from tenuto.testing.timeline import named, path_of, timeline, undone_of
from tenuto.workspace.instance import InstanceRef

if TYPE_CHECKING:
    from tenuto.testing.engine import Engine

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

S = TypeVar("S", Status, NodeStatus)

Condition = Callable[["Instance"], bool]

A_YEAR = timedelta(days=366)


class Instance:
    """An instance, as its log says it is at this moment."""

    def __init__(self, engine: Engine, id: str) -> None:
        self.engine = engine
        self.id = id
        self.arrivals: list[str] = []
        """In `orders`: the steps as their results arrived; in a loop `pack[0]`."""

    def __repr__(self) -> str:
        return f"<instance {self.id} {self.status}>"

    # -- let it go on

    def until(
        self,
        condition: Condition | None = None,
        *,
        status: Status | NodeStatus | str | None = None,
        step: str | None = None,
        waiting_for: str | None = None,
        within: Length = A_YEAR,
    ) -> Instance:
        """Let time pass until something holds, and stop there.

        `waiting_for="payment.*"`: a wait that takes such events is open. `step="charge"`: it has
        completed, or has the given `status`. `status="PAUSED"` alone: the instance has it.
        AssertionError with the timeline when it cannot come to that any more.
        """
        wanted = self._condition(condition, status, step, waiting_for)
        if not self.engine.lives.advance(lambda: wanted(self), read_length("within", within)):
            what = _described(condition, status, step, waiting_for)
            self._refuse_crashed()
            raise AssertionError(f"it never came to {what}: {self.why_it_rests}\n\n{self.timeline}")
        return self

    def finished(self, *, within: Length = A_YEAR) -> Instance:
        """Let time pass until it has ended, well or not; AssertionError when it never does."""
        if not self.engine.lives.advance(
            lambda: self.status.is_final, read_length("within", within)
        ):
            self._refuse_crashed()
            raise AssertionError(f"it does not end: {self.why_it_rests}\n\n{self.timeline}")
        return self

    # -- look at it

    @property
    def status(self) -> Status:
        return self._held.state.status

    @property
    def path(self) -> list[str]:
        """Its steps in the order in which they completed; in a loop `pack[0]`."""
        return path_of(self.history)

    @property
    def undone(self) -> list[str]:
        """The steps that were undone, in that order; in a loop `pack[0]`."""
        steps = self._held.plan.undo_steps
        return undone_of(
            self.history, {name: step.compensation_for for name, step in steps.items()}
        )

    @property
    def output(self) -> JSON:
        """Its output; None before the end, and if it failed."""
        held = self._held
        return output_of(held.plan, held.state) if self.status is Status.COMPLETED else None

    @property
    def error(self) -> Object | None:
        """Why it failed."""
        error = self._held.state.last_error
        return None if error is None else error_view(error)

    @property
    def state(self) -> Object:
        """Its input, variables, steps and open waits."""
        held = self._held
        return state_of(held.plan, held.state)

    @property
    def history(self) -> list[Object]:
        """Its log."""
        return self.engine.lives.reader.history(self.id)

    @property
    def waiting_for(self) -> list[str]:
        """The patterns of its open waits."""
        waits = self.engine.lives.reader.waits(self.id)
        return [wait.pattern for wait in waits if not wait.is_cancellation]

    @property
    def approvals(self) -> list[str]:
        """The steps that wait for a decision; in a loop `review[0]`."""
        state = self._held.state
        keys = [key for key in state.open_nodes() if state.nodes[key].approval is not None]
        opened = sorted(keys, key=lambda key: state.nodes[key].opened)
        return [named(key.node, key.iteration) for key in opened]

    @property
    def timeline(self) -> str:
        """Its history as a readable timeline."""
        if not self.exists:
            return f"{self.id}  was never started"
        state = self._held.state
        head = f"{state.definition_id}@{state.definition_version}  {state.status}  {self.id}"
        return timeline(head, state.input, self.history)

    @property
    def exists(self) -> bool:
        """Whether its start ever became durable."""
        return self.engine.lives.reader.exists(self.id)

    @property
    def definition(self) -> JSON:
        """The definition that it runs."""
        state = self._held.state
        return self.engine.lives.reader.definition(state.definition_id, state.definition_version)

    @property
    def workflow(self) -> str:
        """The id of its definition."""
        return self._held.state.definition_id

    @property
    def why_it_rests(self) -> str:
        """Why nothing more happens."""
        if self.status.is_final:
            return f"it has ended {self.status}"
        if self.status is Status.PAUSED:
            return "it is paused, and never resumed"
        if self.waiting_for:
            return f"it waits for {' and '.join(self.waiting_for)}, which is never published"
        if self.approvals:
            return f"no decision is made on {' and '.join(self.approvals)}"
        return f"it is {self.status} after all that time"

    def calls(self, task: Named | None = None) -> list[Call]:
        """Every run of a task, or of all of them, for this instance."""
        return [call for call in self.engine.calls(task) if call.instance_id == self.id]

    # -- tell it what to do

    def cancel(self, reason: str | None = None) -> None:
        """End it."""
        self.engine.lives.ask(
            lambda app: InstanceRef(app.engine, self.id, is_known=True).cancel(reason)
        )

    def pause(self, reason: str | None = None, until: datetime | None = None) -> None:
        """Dispatch nothing new, until resumed or until `until`."""
        self.engine.lives.ask(
            lambda app: InstanceRef(app.engine, self.id, is_known=True).pause(reason, until)
        )

    def resume(self) -> None:
        """Go on after a pause."""
        self.engine.lives.ask(lambda app: InstanceRef(app.engine, self.id, is_known=True).resume())

    def retry(self) -> None:
        """Let a FAILED one go on."""
        self.engine.lives.ask(lambda app: InstanceRef(app.engine, self.id, is_known=True).retry())

    def decide(
        self,
        step: str,
        decision: str,
        *,
        by: str,
        roles: Sequence[str] = (),
        form: Given = None,
        iteration: str = "",
    ) -> None:
        """Decide `"approved"` or `"rejected"` on one of its approvals, in the name of `by`."""
        given = as_json(form)
        self.engine.lives.ask(
            lambda app: InstanceRef(app.engine, self.id, is_known=True).decide(
                step, decision, by=by, roles=roles, form=given, iteration=iteration
            )
        )

    def rerun(
        self,
        from_step: str | None = None,
        *,
        input: Given | UnsetType = UNSET,
        version: int | None = None,
    ) -> Instance:
        """Make a new instance of it, from a step on, and let it go as far as it goes."""
        given = input if isinstance(input, UnsetType) else as_json(input)

        async def rerun(app: Tenuto) -> str:
            earlier = InstanceRef(app.engine, self.id, is_known=True)
            return (await earlier.rerun(from_step, input=given, version=version)).id

        made = self.engine.lives.ask(rerun, is_repeated=False)
        if made is None:
            self._refuse_crashed()
            raise TenutoError(
                "a task cannot rerun an instance", code="TEN-2206", advice="Do that in the test."
            )
        return Instance(self.engine, made)

    @property
    def _held(self) -> Held:
        return self.engine.lives.reader.held(self.id)

    def _condition(
        self,
        condition: Condition | None,
        status: str | None,
        step: str | None,
        waiting_for: str | None,
    ) -> Condition:
        wanted = [condition] if condition is not None else []
        if waiting_for is not None:
            wanted.append(lambda run: any(fits(each, waiting_for) for each in run.waiting_for))
        if step is not None:
            self._refuse_unknown_step(step)
            sought = status_of(NodeStatus, status or NodeStatus.COMPLETED, "a step")
            wanted.append(lambda run: _has_step(run, step, sought))
        elif status is not None:
            reached = status_of(Status, status, "an instance")
            wanted.append(lambda run: run.status is reached)
        if not wanted or not all(map(callable, wanted)):
            found = "waits for nothing" if not wanted else f"cannot ask {condition!r}"
            raise TenutoError(
                f"until() {found}",
                code="TEN-2206",
                advice='Write until(status="…"), until(waiting_for="…"), until(step="…") or '
                "until(lambda run: …).",
            )
        return lambda run: run.exists and all(each(run) for each in wanted)

    def _refuse_unknown_step(self, step: str) -> None:
        if self.exists and step not in self._held.plan.nodes:
            raise TenutoError(
                f"the workflow has no step {step!r}",
                code="TEN-2206",
                advice=f"It has {', '.join(self._held.plan.nodes)}.",
            )

    def _refuse_crashed(self) -> None:
        if self.engine.crashed is not None:
            _ = self.engine.lives.process


def status_of(kind: type[S], word: str, whose: str) -> S:
    """The status of this name; TenutoError."""
    if word not in set(kind):
        raise TenutoError(
            f"{word!r} is no status of {whose}",
            code="TEN-2206",
            advice=f"There are {', '.join(kind)}.",
        )
    return kind(word)


def _has_step(run: Instance, step: str, status: NodeStatus) -> bool:
    nodes = run.engine.lives.reader.held(run.id).state.nodes
    return any(key.node == step and node.status is status for key, node in nodes.items())


def _described(
    condition: Condition | None, status: str | None, step: str | None, waiting_for: str | None
) -> str:
    parts = [
        f"a wait for {waiting_for}" if waiting_for else "",
        f"step {step} {status or NodeStatus.COMPLETED}" if step else "",
        str(status) if status and not step else "",
        "what was asked for" if condition is not None else "",
    ]
    return " and ".join(part for part in parts if part)
