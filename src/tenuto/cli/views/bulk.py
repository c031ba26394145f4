"""An action over many instances as text: what it would act on, how far it is, what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from tenuto.access.shown import plain
from tenuto.cli.foreseen import Basis
from tenuto.cli.views.tables import table_of
from tenuto.cli.views.terminal import is_redrawn, say, show, show_json, talk
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tenuto.workspace.values import BulkFailure, BulkOperation, Summary

if TYPE_CHECKING:
    from rich.text import Text

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


def show_result(
    action: str, done: int, failures: Sequence[BulkFailure], failed: int, *, place: str
) -> None:
    """How many were done and where, and why others were not."""
    mark = "✗" if failed else "✓"
    refused = f", {failed:,} refused" if failed else ""
    show(f"{mark} {action}: {done:,} done{refused} in {place}")
    say_failures(failures, failed)


def show_stopped(
    action: str, stopped: BulkOperation, done: int, matched: int, *, place: str
) -> None:
    """That an action was stopped before its end, by which principal, and how far it came."""
    by = f" by {plain(stopped.stopped_by)}" if stopped.stopped_by is not None else ""
    show(f"⊘ {action}: stopped{by} after {done:,} of {matched:,} in {place}")


def operation_json(found: BulkOperation) -> Object:
    """A bulk operation with the names of the API."""
    view: Object = msgspec.to_builtins(found)
    for name, moment in (("createdAt", found.created_at), ("endedAt", found.ended_at)):
        view[name] = None if moment is None else iso(moment)
    return view


def operations_table(found: Sequence[BulkOperation]) -> Text:
    """Bulk operations, one on each line."""
    names = ("ID", "ACTION", "STATUS", "MATCHED", "DONE", "REFUSED", "STARTED", "BY")
    rows: list[list[str | Text]] = [
        [
            str(each.id),
            f"{each.action} {each.target}",
            each.status,
            f"{each.matched:,}",
            f"{each.done:,}",
            f"{each.failed:,}",
            "" if each.created_at is None else iso(each.created_at),
            plain(each.requested_by),
        ]
        for each in found
    ]
    return table_of(names, rows, whole=6)


def show_operation(found: BulkOperation, *, is_json: bool) -> None:
    """One bulk operation, and what it refused."""
    if is_json:
        show_json(operation_json(found))
        return
    show(operations_table([found]))
    if found.status == "cancelled":
        by = f" by {plain(found.stopped_by)}" if found.stopped_by is not None else ""
        show(f"  stopped{by} after {found.done + found.failed:,} of {found.matched:,}")
    say_failures(found.failures, found.failed)


def say_failures(failures: Sequence[BulkFailure], failed: int) -> None:
    """Why some were refused."""
    for each in failures[:_MOST_FAILURES]:
        say(f"  {each.id}  {each.code}  {each.message}", style="red")
    if failed > _MOST_FAILURES:
        say(f"  … and {failed - _MOST_FAILURES:,} more; -o json gives the first hundred")
