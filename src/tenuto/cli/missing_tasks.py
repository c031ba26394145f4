"""Tasks of outstanding instances that this process does not have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tenuto.cli.settings import configured
from tenuto.cli.task_modules import load_tasks
from tenuto.cli.views.terminal import say, say_command
from tenuto.compose import is_postgres
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.graph import Task
from tenuto.tasks.registry import DEFAULT_REGISTRY

if TYPE_CHECKING:
    from tenuto.cli.backends.store import StoreBackend
    from tenuto.engine.turns.held import Held
    from tenuto.workspace.values import Summary

_MOST: Final = 100
"""So many instances are looked at before the first of them goes on."""


def load_named_tasks(named: Sequence[str], definition: Path | None) -> None:
    """Import what the command names; where it names nothing, what tenuto.toml does."""
    if named or definition is not None:
        load_tasks(named, definition)
        return
    config = configured({}, None, None).config
    load_tasks(config.tasks, None)
    for file in config.dev.files:
        load_tasks((), Path(file))


async def say_missing_tasks(store: StoreBackend, waiting: Sequence[Summary]) -> None:
    """Name the tasks that are not here; InvalidInput where nothing can go on without them."""
    sent = await _sent_tasks(store)
    missing: dict[str, None] = {}
    can_move = len(waiting) > _MOST or is_postgres(store.url)
    for each in waiting[:_MOST]:
        held = await store.held(each.id)
        lacking = _lacking(held, sent)
        missing |= dict.fromkeys(lacking)
        can_move = can_move or not lacking or _goes_on(held, lacking)
    if not missing:
        return
    command = f"tenuto run FILE --outstanding{store.flag}"
    if can_move:
        say(f"not here: {', '.join(missing)}; name the file that has the tasks:", style="yellow")
        say_command(command)
        return
    problems = [
        Problem(
            code="TEN-2003",
            path=name,
            message=f"no task is registered as {name!r} (UNKNOWN_TASK)",
            advice=f"Name the file that has it: {command}",
        )
        for name in missing
    ]
    raise InvalidInput("nothing that is outstanding can go on: its tasks are not here", problems)


async def _sent_tasks(store: StoreBackend) -> set[str]:
    """Tasks that are sent to an address, and need no code here."""
    found: set[str] = set()
    cursor: str | None = None
    while True:
        page = await store.space.task_definitions.page(cursor=cursor)
        found |= {each.id for each in page.items if each.kind == "push"}
        cursor = page.next_cursor
        if cursor is None:
            return found


def _lacking(held: Held, sent: set[str]) -> list[str]:
    """The tasks of its open steps that nothing here runs."""
    configs = [held.plan[key.node].node.config for key in held.state.open_nodes()]
    tasks = [each.task_id for each in configs if isinstance(each, Task)]
    return [each for each in tasks if each not in DEFAULT_REGISTRY and each not in sent]


def _goes_on(held: Held, lacking: Sequence[str]) -> bool:
    """Whether anything else than those tasks may move it."""
    state = held.state
    steps = [key for key in state.open_nodes() if not state.nodes[key].is_loop]
    return (
        len(lacking) < len(steps)
        or bool(state.timers)
        or state.is_unsettled
        or state.compensation is not None
    )
