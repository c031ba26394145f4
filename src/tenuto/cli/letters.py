"""Which dead letters a command means, and an action over many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict

import typer
from msgspec import Struct, UnsetType

from tenuto.cli import exits
from tenuto.cli.backends.place import ACTOR
from tenuto.cli.bulk import Outcome, confirm, watched
from tenuto.cli.foreseen import refuse
from tenuto.cli.lookup import LAST, refuse_unknown_workflow
from tenuto.cli.served_address import IN_USE
from tenuto.cli.views.bulk import MOST_EXAMPLES, Progress, progress_of
from tenuto.cli.views.terminal import say, say_command, show, show_json
from tenuto.model.edited import EditedInput
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.inputs import CompensationRetryAsked, Input, RetryAsked
from tenuto.model.json import JSON, Object
from tenuto.workspace.dead_letters import late_result
from tenuto.workspace.values import DeadLetterFilter

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.workspace.protocol import Workspace

Action: TypeAlias = Literal["retry", "discard"]

_PAGE: Final = 1_000
_MOST: Final = 100_000
_MOST_NAMED: Final = 3


class _Query(TypedDict):
    kind: str | None
    task_id: str | None
    workflow: str | None
    step_id: str | None
    code: str | None


class LetterFilter(Struct, frozen=True, kw_only=True):
    """What the options of a command say; one that is not given does not count."""

    id: str | None = None
    task: str | None = None
    workflow: str | None = None
    step: str | None = None
    code: str | None = None
    kind: str | None = None

    @property
    def is_given(self) -> bool:
        return self != LetterFilter()

    @property
    def query(self) -> _Query:
        """The same for a list of dead letters."""
        return {
            "kind": self.kind,
            "task_id": self.task,
            "workflow": self.workflow,
            "step_id": self.step,
            "code": self.code,
        }

    @property
    def letters(self) -> DeadLetterFilter:
        """The same for groups, and for a bulk operation, whose audit line keeps it."""
        return DeadLetterFilter(**self.query)


def refuse_unclear(id: str | None, which: LetterFilter) -> None:
    """Wrong usage, where neither an id nor a filter is given, or both are."""
    if (id is None) == which.is_given:
        return
    message = "an id is named, or a filter, and not both"
    if id is None:
        message = "name a dead letter by its id, or several by a filter such as --task pay"
    raise typer.BadParameter(message, param_hint="ID, --task, --workflow, --step, --code, --kind")


async def letter_id(space: Workspace, text: str) -> str:
    """The id that is named: as it is, or the newest for `@last`; NotFound."""
    if text != LAST:
        return text
    for each in (await space.dead_letters.page(limit=1)).items:
        return str(each["id"])
    raise NotFound(
        f"{LAST}: there is no dead letter",
        advice="`tenuto list --status FAILED` shows instances that failed.",
    )


async def matching(space: Workspace, which: LetterFilter) -> AsyncIterator[Object]:
    """Every dead letter that a filter finds, newest first; NotFound for an id without one."""
    if which.id is not None:
        yield await space.dead_letters.get(which.id)
        return
    cursor: str | None = None
    while True:
        page = await space.dead_letters.page(**which.query, limit=_PAGE, cursor=cursor)
        for each in page.items:
            yield each
        cursor = page.next_cursor
        if cursor is None:
            return


async def refuse_retry(backend: Backend, id: str, input: JSON | UnsetType) -> None:
    """The refusal of a retry, where there would be one; NotFound."""
    letter = await backend.space.dead_letters.get(id)
    instance, step, iteration = (
        str(letter[name]) for name in ("instanceId", "stepId", "iteration")
    )
    asked: Input = RetryAsked(by=ACTOR)
    if letter["kind"] == "late-result":
        raise late_result()
    if letter["kind"] == "compensation-failed":
        asked = CompensationRetryAsked(by=ACTOR, step_id=step, iteration=iteration, input=input)
    elif not isinstance(input, UnsetType):
        edited = EditedInput(step_id=step, iteration=iteration, input=input)
        asked = RetryAsked(by=ACTOR, edited=edited)
    refuse(await backend.held(instance), asked, backend)


async def act_on_letters(
    backend: Backend,
    action: Action,
    which: LetterFilter,
    *,
    dry_run: bool,
    yes: bool,
    is_json: bool,
    is_edited: bool | None = None,
) -> int:
    """Do it to all that the filter finds now; the exit code is that of the first refusal.

    `is_edited`: of a retry of one, whether it has another input.
    """
    found: list[Object] = []
    async for each in matching(backend.space, which):
        found.append(each)
        if len(found) >= _MOST:
            break
    if not found:
        await refuse_unknown_workflow(backend.space, which.workflow)
    outcome = Outcome()
    if dry_run or not found:
        if is_json:
            view = outcome.view(action, "dry-run" if dry_run else "done", len(found))
            edited: Object = {"inputEdited": is_edited} if is_edited is not None else {}
            examples: list[JSON] = [each["id"] for each in found[:MOST_EXAMPLES]]
            show_json({**view, **edited, "examples": examples})
        else:
            show(preview(action, found))
            if is_edited is not None:
                show(f"  input     {'edited' if is_edited else 'unchanged'}")
            if not found:
                say_command(f"tenuto dead-letters list{backend.flag}")
        return exits.DONE
    if not yes:
        confirm(action, preview(action, found))
    ids = [str(each["id"]) for each in found]
    with progress_of(action, len(ids)) as progress:
        ended = await _all_done(backend, action, which, ids, outcome=outcome, progress=progress)
    if ended is not None:
        return ended
    if is_json:
        show_json(outcome.view(action, "done", len(ids)))
        return outcome.exit_code
    outcome.show(action, len(ids), place=backend.described)
    if outcome.done and action == "retry" and not backend.is_worked_on:
        say("  No process works on the store now. To run the steps that follow:")
        say_command(f"tenuto run FILE --outstanding{backend.flag}")
    return outcome.exit_code


def preview(action: Action, found: Sequence[Object]) -> str:
    """`retry 12 dead letters (pay 10, ship 2), such as …`."""
    if not found:
        return f"nothing to {action}: no dead letter like that"
    counts = Counter(str(each["taskId"] or each["stepId"]) for each in found).most_common()
    tasks = ", ".join(f"{name} {count:,}" for name, count in counts[:_MOST_NAMED])
    others = ", …" if len(counts) > _MOST_NAMED else ""
    what = "1 dead letter" if len(found) == 1 else f"{len(found):,} dead letters"
    examples = ", ".join(str(each["id"]) for each in found[:MOST_EXAMPLES])
    such_as = "" if len(found) == 1 else "such as "
    return f"{action} {what} ({tasks}{others}), {such_as}{examples}"


async def _all_done(
    backend: Backend,
    action: Action,
    which: LetterFilter,
    ids: Sequence[str],
    *,
    outcome: Outcome,
    progress: Progress,
) -> int | None:
    """None once it has ended; an exit code where watching it was stopped."""
    try:
        operation = await backend.space.bulk.start_on_dead_letters(action, which.letters)
        return await watched(backend, operation, outcome, progress=progress, matched=len(ids))
    except StoreUnavailable as error:
        if error.code != IN_USE or outcome.done:
            raise
        # A program has the file: it takes commands one by one, from its mailbox.
        await _one_by_one(backend, action, ids, outcome, progress)
    return None


async def _one_by_one(
    backend: Backend, action: Action, ids: Sequence[str], outcome: Outcome, progress: Progress
) -> None:
    letters = backend.space.dead_letters
    for number, id in enumerate(ids):
        progress(number, len(ids))
        try:
            await (letters.retry(id) if action == "retry" else letters.discard(id))
        except StoreUnavailable:
            raise
        except TenutoError as error:
            outcome.refuse(id, error)
            continue
        outcome.done += 1
