"""An action over several instances: previewed, confirmed, done with progress, and reported."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec
import typer
from msgspec import Struct

from tenuto.cli import exits
from tenuto.cli.foreseen import Basis, bases_of
from tenuto.cli.live_feed import interruptible
from tenuto.cli.lookup import refuse_unknown_workflow
from tenuto.cli.selection import Asked, filter_of, filtered, ids_of, is_for_bulk, named
from tenuto.cli.served_address import IN_USE
from tenuto.cli.views.advice import say_advice, with_warnings
from tenuto.cli.views.bulk import (
    MOST_EXAMPLES,
    Progress,
    basis_lines,
    preview,
    progress_of,
    say_bases,
    say_failures,
    show_result,
    show_stopped,
)
from tenuto.cli.views.outcome import if_not_worked_on
from tenuto.cli.views.terminal import say, say_command, show, show_json
from tenuto.model.errors import StoreUnavailable, TenutoError, not_there
from tenuto.model.json import Object
from tenuto.model.status import FINAL, Status
from tenuto.workspace.values import BulkFailure, BulkOperation, InstanceFilter, Summary

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.workspace import protocol
    from tenuto.workspace.protocol import Workspace

Action: TypeAlias = Literal["cancel", "pause", "resume", "retry", "rerun"]

_OPEN: Final = tuple(status for status in Status if status not in FINAL)
_SENSIBLE: Final[dict[Action, tuple[Status, ...]]] = {
    "cancel": _OPEN,
    "pause": (Status.RUNNING, Status.WAITING_FOR_EVENT),
    "resume": (Status.PAUSED,),
    "retry": (Status.FAILED,),
    "rerun": (Status.FAILED,),
}
"""What a filter without a status finds."""
_MOST_COUNTED: Final = 100_000
_MOST_IDS: Final = 1_000
"""Of one operation."""
_MOST_FAILURES: Final = 100
_LOOK_EVERY: Final = 0.3


class Many(Struct, frozen=True, kw_only=True):
    """An action, and how it is done to one instance."""

    action: Action
    asked: Asked
    one: Callable[[protocol.Instance], Awaitable[Status | protocol.Instance]]
    """Gives its status, or the new instance that it makes."""
    reason: str | None = None
    should_compensate: bool = True
    dry_run: bool = False
    yes: bool = False
    version: int | None = None
    """Of a rerun: the version for all; None: that of each."""
    is_edited: bool = False
    """Whether it gets another input; of a rerun: whether all do."""
    is_alone: bool = False
    """Whether the service knows no operation like that, so that it is done one by one."""


class Outcome:
    """What came of an action so far."""

    def __init__(self) -> None:
        self.done = 0
        self.failed = 0
        self.failures: list[BulkFailure] = []
        self.made: list[Object] = []
        self.exit_code = exits.DONE
        """That of the first refusal, or of the stop."""
        self.stopped: BulkOperation | None = None
        """The operation that was stopped before its end: nothing follows it."""

    def refuse(self, id: str, error: TenutoError) -> None:
        self.failed += 1
        self.exit_code = self.exit_code or exits.exit_code(error)
        if len(self.failures) < _MOST_FAILURES:
            said = BulkFailure(id=id, code=error.code, message=error.message)
            self.failures.append(said)

    def add(self, operation: BulkOperation) -> None:
        self.done += operation.done
        self.failed += operation.failed
        self.failures += operation.failures[: _MOST_FAILURES - len(self.failures)]
        for each in operation.failures[:1]:
            error = TenutoError(each.message, code=each.code)
            self.exit_code = self.exit_code or exits.exit_code(error)
        if operation.status == "cancelled":
            self.stopped = operation
            self.exit_code = self.exit_code or exits.FAILED

    def view(self, action: str, status: str, matched: int) -> Object:
        """The same as JSON; `status` is that of an action that was not stopped."""
        view: Object = {
            "action": action,
            "status": status if self.stopped is None else "cancelled",
            "matched": matched,
            "done": self.done,
            "failed": self.failed,
            "failures": msgspec.to_builtins(self.failures),
        }
        if self.stopped is not None:
            view["stoppedBy"] = self.stopped.stopped_by
        return view

    def show(self, action: str, matched: int, *, place: str) -> None:
        """Tell people what came of it."""
        if self.stopped is not None:
            show_stopped(action, self.stopped, self.done, matched, place=place)
            say_failures(self.failures, self.failed)
            return
        show_result(action, self.done, self.failures, self.failed, place=place)


async def act_on_many(backend: Backend, many: Many, *, is_json: bool) -> int:
    """Do it to all that are meant; the exit code is that of the first refusal."""
    outcome = Outcome()
    found, which = await _meant(backend.space, many, outcome, backend.clock.now())
    if not found and which is not None:
        await refuse_unknown_workflow(backend.space, which.workflow)
    more = "+" if len(found) >= _MOST_COUNTED else ""
    bases: list[tuple[Basis, int]] = []
    if many.action in ("retry", "rerun"):
        bases = await bases_of(backend, found, many.version, is_edited=many.is_edited)
    if many.dry_run or not found:
        code = _previewed(many, found, outcome, more, bases, is_json=is_json)
        if which is not None and not found and not is_json:
            _say_why_none(which, backend.flag)
        return code
    # Ids that were typed are meant, and are not asked about.
    if not (many.yes or many.asked.is_typed):
        confirm(many.action, "\n".join([preview(many.action, found, more), *basis_lines(bases)]))
    elif not is_json:
        say_bases(bases)
    with progress_of(many.action, len(found)) as progress:
        ended = await _all_done(backend, many, which, found, outcome=outcome, progress=progress)
    if ended is not None:
        return ended
    goes_on = outcome.done and many.action not in ("cancel", "pause")
    warnings = if_not_worked_on(backend) if goes_on else []
    if is_json:
        show_json(with_warnings(_view(many, outcome, "done", len(found), bases), warnings))
    else:
        _show_done(backend, many, outcome, len(found))
        say_advice(warnings)
    return outcome.exit_code


async def _meant(
    space: Workspace, many: Many, outcome: Outcome, now: datetime
) -> tuple[list[Summary], InstanceFilter | None]:
    """The instances that are meant, and the filter that finds them, where one is given."""
    found: list[Summary] = []
    if many.asked.words:
        ids = await ids_of(space, many.asked)
        found += await named(space, ids)
        there = {each.id for each in found}
        for id in ids:
            if id not in there:
                outcome.refuse(id, not_there(id))
        return found, None
    search = filter_of(many.asked, _SENSIBLE[many.action], now)
    async for each in filtered(space, search):
        found.append(each)
        if len(found) >= _MOST_COUNTED:
            break
    return found, search.which if is_for_bulk(search) else None


def _show_done(backend: Backend, many: Many, outcome: Outcome, matched: int) -> None:
    outcome.show(many.action, matched, place=backend.described)
    for made in outcome.made:
        show(f"  {made['instanceId']}  of {made['rerunOf']}")


async def _all_done(
    backend: Backend,
    many: Many,
    which: InstanceFilter | None,
    found: Sequence[Summary],
    *,
    outcome: Outcome,
    progress: Progress,
) -> int | None:
    """None once it has ended; an exit code where watching it was stopped."""
    if many.is_alone:
        await _one_by_one(backend, many, found, outcome, progress)
        return None
    filters = [which] if which is not None else _in_operations(found)
    try:
        for each in filters:
            ended = await _operated(
                backend, many, each, outcome, progress=progress, matched=len(found)
            )
            if ended is not None:
                return ended
            if outcome.stopped is not None:
                return None
    except StoreUnavailable as error:
        if error.code != IN_USE or outcome.done:
            raise
        # A program has the file: it takes commands one by one, from its mailbox.
        await _one_by_one(backend, many, found, outcome, progress)
    return None


def _in_operations(found: Sequence[Summary]) -> list[InstanceFilter]:
    ids = [each.id for each in found]
    # In any status: one in which the action is not possible is refused, and not passed over.
    return [
        InstanceFilter(ids=tuple(ids[first : first + _MOST_IDS]), status=tuple(Status))
        for first in range(0, len(ids), _MOST_IDS)
    ]


async def _operated(
    backend: Backend,
    many: Many,
    which: InstanceFilter,
    outcome: Outcome,
    *,
    progress: Progress,
    matched: int,
) -> int | None:
    """Have the store or the server do it, and watch that; an exit code where it was stopped."""
    action = many.action
    assert action != "rerun"
    operation = await backend.space.bulk.start(
        action, which, reason=many.reason, should_compensate=many.should_compensate
    )
    return await watched(backend, operation, outcome, progress=progress, matched=matched)


async def watched(
    backend: Backend,
    operation: BulkOperation,
    outcome: Outcome,
    *,
    progress: Progress,
    matched: int,
) -> int | None:
    """Watch an operation to its end; an exit code where that was stopped."""
    assert operation.id is not None
    before = outcome.done + outcome.failed
    with interruptible() as stopped:
        while operation.status == "running":
            progress(before + operation.done + operation.failed, matched)
            if await backend.clock.wait(stopped, _LOOK_EVERY):
                say(f"stopped watching; {operation.id} goes on. To stop it:", style="yellow")
                say_command(f"tenuto bulk stop {operation.id}{backend.flag}")
                return exits.INTERRUPTED
            operation = await backend.space.bulk.get(str(operation.id))
    outcome.add(operation)
    return None


async def _one_by_one(
    backend: Backend, many: Many, found: Sequence[Summary], outcome: Outcome, progress: Progress
) -> None:
    for number, each in enumerate(found):
        progress(number, len(found))
        try:
            made = await many.one(backend.space.at(each.id))
        except StoreUnavailable:
            raise
        except TenutoError as error:
            outcome.refuse(each.id, error)
            continue
        outcome.done += 1
        if not isinstance(made, Status):
            outcome.made.append({"instanceId": made.id, "rerunOf": each.id})


def _previewed(
    many: Many,
    found: Sequence[Summary],
    outcome: Outcome,
    more: str,
    bases: Sequence[tuple[Basis, int]],
    *,
    is_json: bool,
) -> int:
    if is_json:
        view = _view(many, outcome, "dry-run" if many.dry_run else "done", len(found), bases)
        show_json({**view, "examples": [each.id for each in found[:MOST_EXAMPLES]]})
    else:
        for line in (preview(many.action, found, more), *basis_lines(bases)):
            show(line)
        for each in outcome.failures:
            say(f"  {each.id}  {each.code}  {each.message}", style="red")
    return outcome.exit_code


def _say_why_none(which: InstanceFilter, flag: str) -> None:
    """Tell people which statuses were looked for, and how to see the instances in others."""
    say(f"  None is {', '.join(each.value for each in which.status)}. All like that:")
    options = "" if which.workflow is None else f" --workflow {shlex.quote(which.workflow)}"
    say_command(f"tenuto list{options}{flag}")


def confirm(action: str, previewed: str) -> None:
    """Show what would be done, and ask on a terminal."""
    say(previewed)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise typer.BadParameter(
            f"nothing is asked without a terminal: add --yes to {action} them, or --dry-run "
            "to see them",
            param_hint="--yes",
        )
    if not typer.confirm("Go on?", err=True):
        say("nothing was done")
        raise typer.Exit(exits.FAILED)


def _view(
    many: Many,
    outcome: Outcome,
    status: str,
    matched: int,
    bases: Sequence[tuple[Basis, int]],
) -> Object:
    view = outcome.view(many.action, status, matched)
    if many.action in ("retry", "rerun"):
        view["versions"] = [{**basis.view(), "matched": count} for basis, count in bases]
    if many.action == "rerun":
        view["items"] = [*outcome.made]
    return view
