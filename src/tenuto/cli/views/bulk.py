"""An action over many instances as text: what it would act on, how far it is, what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from tenuto.cli.foreseen import Basis
from tenuto.cli.views.terminal import is_redrawn, say, show, talk
from tenuto.workspace.values import BulkFailure, Summary

MOST_EXAMPLES: Final = 3
_MOST_FAILURES: Final = 10
_MOST_WORKFLOWS: Final = 3


def preview(action: str, found: Sequence[Summary], more: str = "") -> str:
    """`cancel 12 instances (order 10, refund 2), such as 019a…, 019b…, 019c…`."""
    if not found:
        return f"nothing to {action}: no instance like that"
    counts = Counter(each.workflow for each in found).most_common()
    named = ", ".join(f"{name} {count:,}" for name, count in counts[:_MOST_WORKFLOWS])
    others = ", …" if len(counts) > _MOST_WORKFLOWS else ""
    what = "1 instance" if len(found) == 1 else f"{len(found):,}{more} instances"
    examples = ", ".join(each.id for each in found[:MOST_EXAMPLES])
    such_as = "" if len(found) == 1 else "such as "
    return f"{action} {what} ({named}{others}), {such_as}{examples}"


def basis_lines(bases: Sequence[tuple[Basis, int]]) -> list[str]:
    """The versions that instances go on with, as for one, and how many with each."""
    lines: list[str] = []
    for basis, count in bases:
        version, input = basis.lines()
        lines.append(f"{version}, {count:,} instance{'' if count == 1 else 's'}")
        if basis.is_edited:
            lines.append(input)
    return lines


def say_bases(bases: Sequence[tuple[Basis, int]]) -> None:
    """Tell people the versions that are used, before they are."""
    for line in basis_lines(bases):
        say(line, style="dim")


class Progress(Protocol):
    """Shows how far an action is."""

    def __call__(self, done: int, matched: int) -> None: ...


@contextmanager
def progress_of(action: str, matched: int) -> Iterator[Progress]:
    """A bar in a terminal; on a pipe a line for each tenth."""
    if is_redrawn():
        from rich.progress import Progress as Bars

        with Bars(console=talk(), transient=True) as bars:
            task = bars.add_task(action, total=matched)

            def advance(done: int, matched: int) -> None:
                bars.update(task, completed=done, total=max(matched, done))

            yield advance
        return
    tenth = 0

    def tell(done: int, matched: int) -> None:
        nonlocal tenth
        reached = 10 * done // max(matched, 1)
        if tenth < reached < 10:
            tenth = reached
            say(f"{action}: {done:,} of {matched:,}")

    yield tell


def show_result(action: str, done: int, failures: Sequence[BulkFailure], failed: int) -> None:
    """How many were done, and why others were not."""
    mark = "✗" if failed else "✓"
    show(f"{mark} {action}: {done:,} done{f', {failed:,} refused' if failed else ''}")
    for each in failures[:_MOST_FAILURES]:
        say(f"  {each.id}  {each.code}  {each.message}", style="red")
    if failed > _MOST_FAILURES:
        say(f"  … and {failed - _MOST_FAILURES:,} more; -o json gives the first hundred")
