"""Shows an instance while it runs: a live list in a terminal, a line per change on a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from tenuto.cli.views.compensation import under_way, undone_since
from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.progress import Line, counts, elapsed, line_of, lines_of
from tenuto.cli.views.terminal import is_redrawn, say, talk
from tenuto.core import InstanceState, Plan
from tenuto.model.ids import NodeKey
from tenuto.model.lengths import length
from tenuto.model.policy import NO_POLICIES, Policies
from tenuto.model.status import NodeStatus

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

Now = Callable[[], datetime]

_BAR = 24
_FURNITURE = 5
"""Lines of a terminal that are not for steps."""


class Watcher(Protocol):
    """Shows an instance while it runs."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def changed(self, state: InstanceState, steps: Iterable[str]) -> None:
        """The instance has a new durable state, in which these steps have moved."""


class LineWatcher:
    """One line on stderr for each step that changes; nothing moves, so logs stay readable."""

    def __init__(self, plan: Plan, state: InstanceState, now: Now, policies: Policies) -> None:
        self._plan = plan
        self._state = state
        self._now = now
        self._policies = policies

    def __enter__(self) -> Self:
        for step in self._plan.nodes:
            if _look(self._state, step) is not None:
                self._show(self._state, step)
        for line in undone_since(None, self._state.compensation):
            say(line)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def changed(self, state: InstanceState, steps: Iterable[str]) -> None:
        before, self._state = self._state, state
        for step in dict.fromkeys(steps):
            if _look(before, step) != _look(state, step):
                self._show(state, step)
        for line in undone_since(before.compensation, state.compensation):
            say(line)

    def _show(self, state: InstanceState, step: str) -> None:
        line = line_of(self._plan, state, step, self._now(), self._policies)
        word = "running" if line.mark == "●" and not line.note.startswith("att") else ""
        parts = [f"{line.mark} {line.step}", word or line.note, line.detail]
        say("  ".join(part for part in parts if part))


class LiveWatcher:
    """Redraws every step several times a second, so that countdowns count."""

    def __init__(self, plan: Plan, state: InstanceState, now: Now, policies: Policies) -> None:
        from rich.live import Live

        self._plan = plan
        self._state = state
        self._now = now
        self._policies = policies
        self._live = Live(
            console=talk(),
            get_renderable=self._picture,
            refresh_per_second=8,
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def changed(self, state: InstanceState, steps: Iterable[str]) -> None:  # noqa: ARG002
        # States are frozen: the thread that draws sees the old one or the new one.
        self._state = state

    def _picture(self) -> RenderableType:
        from rich.console import Group

        state, now = self._state, self._now()
        lines = lines_of(self._plan, state, now, self._policies)
        room = max(talk().height - _FURNITURE, 5)
        shown, hidden = fitted(lines, room)
        width = max((len(line.step) for line in shown), default=0)
        rows: list[RenderableType] = [_row(line, width, talk().width) for line in shown]
        if hidden:
            rows.append(_dim(f"  … and {hidden} more"))
        if (undoing := under_way(state.compensation)) is not None:
            rows.append(_dim(f"  {undoing}"))
        return Group("", *rows, bar(self._plan, state, now))


def watcher_for(
    plan: Plan, state: InstanceState, now: Now, policies: Policies = NO_POLICIES
) -> Watcher:
    """Live in a terminal that can be redrawn."""
    return (LiveWatcher if is_redrawn() else LineWatcher)(plan, state, now, policies)


def fitted(lines: Sequence[Line], room: int) -> tuple[list[Line], int]:
    """As many lines as there is room for: running and failed steps before the rest."""
    if len(lines) <= room:
        return list(lines), 0
    urgent = [line for line in lines if line.mark in "●◌↻✗"][:room]
    rest = [line for line in lines if line.mark not in "●◌↻✗"]
    chosen = {id(line) for line in (*urgent, *rest[: max(room - len(urgent), 0)])}
    shown = [line for line in lines if id(line) in chosen]
    return shown, len(lines) - len(shown)


def bar(plan: Plan, state: InstanceState, now: datetime) -> Text:
    """`▓▓▓▓░░░░  3/6 steps  24 s`."""
    from rich.text import Text

    ended, total = counts(plan, state)
    full = _BAR * ended // total if total else _BAR
    mark, style = STATUS_MARKS[state.status]
    text = Text("  ")
    text.append("▓" * full, style=style if state.status.is_final else "green")
    text.append("░" * (_BAR - full), style="dim")
    text.append(f"  {ended}/{total} steps  {length(elapsed(state, now))}")
    text.append(f"  {mark} {state.status.value}", style=style)
    return text


def _row(line: Line, width: int, most: int) -> Text:
    from rich.text import Text

    row = Text("  ", no_wrap=True, overflow="ellipsis")
    row.append(line.mark, style=line.style)
    row.append(f" {line.step:<{width}}", style="dim" if line.style == "dim" else "")
    row.append(f"  {line.note}", style="" if line.style in ("green", "blue") else line.style)
    if line.detail:
        row.append(f"    {line.detail}", style="red")
    row.truncate(max(most - 1, 20), overflow="ellipsis")
    return row


def _dim(text: str) -> Text:
    from rich.text import Text

    return Text(text, style="dim")


def _look(state: InstanceState, step: str) -> tuple[NodeStatus, int, bool] | None:
    """What of a step is worth a line when it changes."""
    node = state.nodes.get(NodeKey(step))
    if node is None:
        return None
    return node.status, node.attempt, node.grace_until is not None
