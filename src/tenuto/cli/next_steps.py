"""The commands that lead on from the state of an instance: none of them is refused there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tenuto.cli.event_hints import event_hint
from tenuto.cli.foreseen import of_rerun, outermost
from tenuto.cli.views.terminal import say, say_command
from tenuto.model.errors import NotFound, TenutoError
from tenuto.model.failure import INVALID_INPUT, failed_child, is_in_the_definition
from tenuto.model.json import JSON, Object
from tenuto.model.status import read_status
from tenuto.workspace.values import InstanceFilter

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.workspace.values import DeadLetterGroup, Summary

_MOST: Final = 3
"""So many of one kind are named."""
_LETTERS: Final = 100
"""The dead letter of an instance is looked for among so many of its cause."""
_WILD: Final = frozenset("*?")


class Next(NamedTuple):
    """A command, and what it is for."""

    purpose: str
    command: str


async def say_next_steps(backend: Backend, shown: Summary, explained: Object) -> None:
    """Tell people what they can do about an instance as it is."""
    state: JSON = None
    if any(each["kind"] == "event" for each in _all(explained["causes"])):
        state = (await backend.space.at(shown.id).state()).get("input")
    can_rerun = not _needs_rerun(explained) or await _newest(backend, shown) is not None
    found = next_steps(explained, state, parent_id=shown.parent_id, can_rerun=can_rerun)
    if shown.parent_id is None and (failed := _in_the_definition(explained)) is not None:
        found = await _by_a_correction(backend, shown, failed)
        found += await _with_another_input(backend, shown, failed)
        found += _undone_again(shown.id, explained)
    purpose = ""
    for step in found:
        if step.purpose != purpose:
            say(f"  {step.purpose}:")
            purpose = step.purpose
        say_command(f"{step.command}{backend.flag}")


async def say_letter_steps(backend: Backend, letter: Object) -> None:
    """Tell people what they can do about a dead letter."""
    id = shlex.quote(str(letter["id"]))
    explained = await backend.space.at(str(letter["instanceId"])).explain()
    causes = list(_all(explained["causes"]))
    if any(cause["kind"] == "quarantined" for cause in causes):
        say("  To release its instance first:")
        say_command(f"tenuto retry {letter['instanceId']}{backend.flag}")
        return
    can_retry = any(
        isinstance(cause["details"], dict) and cause["details"].get("canRetry") is True
        for cause in causes
    )
    if letter["kind"] == "compensation-failed" or (can_retry and letter["kind"] != "late-result"):
        say("  To run it again, with --input also with another input:")
        say_command(f"tenuto dead-letters retry {id}{backend.flag}")
    say("  To remove it:")
    say_command(f"tenuto dead-letters discard {id}{backend.flag}")


def say_group_steps(found: Sequence[DeadLetterGroup], flag: str) -> None:
    """Tell people how the most frequent cause of dead letters is looked at, and retried."""
    first = found[0]
    options = f" --kind {first.kind}"
    told = (("workflow", first.workflow_id), ("step", first.step_id), ("code", first.code))
    for name, value in told:
        options += "" if value is None else f" --{name} {shlex.quote(value)}"
    say("  To look at the first of them, and to retry them all:")
    say_command(f"tenuto dead-letters list{options}{flag}")
    if first.kind != "late-result":
        say_command(f"tenuto dead-letters retry{options} --dry-run{flag}")


def next_steps(
    explained: Object, input: JSON, *, parent_id: str | None, can_rerun: bool
) -> list[Next]:
    """From its explanation, its input, and its parent."""
    id = str(explained["instanceId"])
    causes = list(_all(explained["causes"]))
    found: list[Next] = []
    for cause in causes:
        details = cause["details"]
        assert isinstance(details, dict)
        match cause["kind"]:
            case "quarantined":
                found.append(Next("To release it", f"tenuto retry {id}"))
            case "paused":
                found.append(Next("To let it go on", f"tenuto resume {id}"))
            case "failed" if "canRetry" in details:
                found += _after_failure(id, details, parent_id, can_rerun=can_rerun)
            case "event":
                found += _sent(details, input)
            case "approval":
                found.append(_decided(id, cause, details))
            case "retry":
                step = shlex.quote(_step(cause))
                found.append(Next("What its attempts logged", f"tenuto logs {id} --step {step}"))
            case "child" if isinstance(child := details.get("childId"), str):
                found.append(Next("It runs as another instance", f"tenuto explain {child}"))
            case _:
                pass
    found += _undone_again(id, explained)
    kept: list[Next] = []
    for each in dict.fromkeys(found):
        if sum(one.purpose == each.purpose for one in kept) < _MOST:
            kept.append(each)
    return kept


def _after_failure(
    id: str, details: Object, parent_id: str | None, *, can_rerun: bool
) -> Iterator[Next]:
    if details["canRetry"]:
        yield Next("To go on where it failed", f"tenuto retry {id}")
        return
    if parent_id is not None:
        yield Next("It is a step of another instance", f"tenuto explain {parent_id}")
    elif can_rerun:
        yield Next("It cannot be retried; to make a new instance of it", f"tenuto rerun {id}")


def _sent(details: Object, input: JSON) -> Iterator[Next]:
    pattern, condition = str(details["eventPattern"]), details["eventCondition"]
    if _WILD & set(pattern):
        # Which of its names is meant is not known.
        return
    belongs = details.get("correlationId")
    hint = event_hint(
        pattern,
        None if condition is None else str(condition),
        input,
        correlation_id=belongs if isinstance(belongs, str) else None,
    )
    if hint.is_whole and (belongs is not None or "correlationId" not in details):
        yield Next("To send what it waits for", f"tenuto events send {hint.arguments}")
    else:
        yield Next(
            "To see what an event would do", f"tenuto events send {hint.arguments} --dry-run"
        )


def _decided(id: str, cause: Object, details: Object) -> Next:
    users, roles = details.get("users"), details.get("roles")
    who = "NAME"
    if isinstance(users, list) and users:
        who = shlex.quote(str(users[0]))
    role = ""
    if who == "NAME" and isinstance(roles, list) and roles:
        role = f" --role {shlex.quote(str(roles[0]))}"
    form = " --form JSON" if "formSchema" in details else ""
    decision = f"{shlex.quote(_step(cause))} approved --by {who}{role}{form}"
    return Next("To decide, approved or rejected", f"tenuto decide {id} {decision}")


def _undone_again(id: str, explained: Object) -> Iterator[Next]:
    """Compensation steps that were given up, once the instance has ended."""
    if not read_status(str(explained["status"])).is_final:
        return
    for cause in _all(explained["causes"]):
        if cause["kind"] == "compensation":
            for each in _all(cause["causes"]):
                step = shlex.quote(_step(each))
                yield Next("To try again to undo it", f"tenuto retry {id} --compensation {step}")


def _needs_rerun(explained: Object) -> bool:
    return any(
        isinstance(cause["details"], dict) and cause["details"].get("canRetry") is False
        for cause in _all(explained["causes"])
    )


def _in_the_definition(explained: Object) -> Object | None:
    """The cause that another version of the definition mends."""
    for cause in _all(explained["causes"]):
        error = _error(cause)
        if error is not None and is_in_the_definition(*error):
            return cause
    return None


def _error(cause: Object) -> tuple[str, JSON] | None:
    """The code and the details of the error that an instance failed with."""
    details = cause["details"]
    error = details.get("error") if isinstance(details, dict) and "canRetry" in details else None
    return (str(error["code"]), error.get("details")) if isinstance(error, dict) else None


async def _by_a_correction(backend: Backend, shown: Summary, failed: Object) -> list[Next]:
    """The rerun with the newest version of what failed, or with the one that a correction makes."""
    newest = await _newest(backend, shown)
    if newest is None:
        return []
    below = await _failed_below(backend, failed)
    if below is None:
        is_newer = newest > shown.version
        version = newest if is_newer else newest + 1
        start = await _from_step(backend, shown, failed, newest)
        purpose = _corrected(shown.workflow, version, "with that version", is_newer=is_newer)
        return [Next(purpose, f"tenuto rerun {shown.id}{start} --version {version}")]
    below_newest = await _newest(backend, below) or 0
    is_newer = below_newest > below.version
    version = below_newest if is_newer else below_newest + 1
    # A new instance starts the newest version of its children, unless its definition names one.
    start = await _from_step(backend, shown, failed, shown.version)
    purpose = _corrected(below.workflow, version, "with that child", is_newer=is_newer)
    return [Next(purpose, f"tenuto rerun {shown.id}{start}")]


async def _with_another_input(backend: Backend, shown: Summary, failed: Object) -> list[Next]:
    """The retry of the step whose input does not fit its task, with an edited one."""
    error, details = _error(failed), failed["details"]
    if error is None or error[0] != INVALID_INPUT:
        return []
    if not isinstance(details, dict) or details.get("canRetry") is not True:
        return []
    try:
        page = await backend.space.dead_letters.page(
            workflow=shown.workflow, code=INVALID_INPUT, limit=_LETTERS
        )
    except TenutoError:
        return []
    return [
        Next(
            "Or go on where it failed, with another input of the step",
            f"tenuto dead-letters retry {shlex.quote(str(each['id']))} --input JSON",
        )
        for each in page.items
        if each["instanceId"] == shown.id and each["kind"] != "late-result"
    ][:1]


def _corrected(workflow: str, version: int, how: str, *, is_newer: bool) -> str:
    name = f"{workflow}@{version}"
    if is_newer:
        return f"{name} is newer; to rerun it {how}"
    return f"Correct the definition and deploy it, as {name}; then"


async def _failed_below(backend: Backend, failed: Object) -> Summary | None:
    """The child in which it failed, the innermost one; None for a failure of its own."""
    id: str | None = None
    error = _error(failed)
    while error is not None and (child := failed_child(*error)) is not None:
        id, error = child[0], child[1:]
    if id is None:
        return None
    page = await backend.space.page(InstanceFilter(ids=(id,)), limit=1)
    return page.items[0] if page.items else None


async def _from_step(backend: Backend, shown: Summary, failed: Object, version: int) -> str:
    """` --from STEP` where a rerun from the step that failed is accepted, and keeps others."""
    if (step := failed.get("stepId")) is None:
        return ""
    try:
        held = await backend.held(shown.id)
        first = outermost(held.plan, str(step))
        foreseen = await of_rerun(backend, held, first, version)
    except TenutoError:
        return ""
    return f" --from {shlex.quote(first)}" if foreseen.kept else ""


async def _newest(backend: Backend, shown: Summary) -> int | None:
    """The newest version of its workflow; None: it was removed, and nothing starts of it."""
    try:
        return (await backend.space.definition(shown.workflow)).version
    except NotFound:
        return None


def _step(cause: Object) -> str:
    iteration = f"[{cause['iteration']}]" if cause.get("iteration") else ""
    return f"{cause['stepId']}{iteration}"


def _all(causes: JSON) -> Iterator[Object]:
    """The causes of an instance itself, in loops too; not those of its children."""
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict):
            yield cause
            if cause["kind"] != "child":
                yield from _all(cause["causes"])
