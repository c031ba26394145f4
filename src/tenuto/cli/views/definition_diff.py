"""The differences of two definitions as lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tenuto.cli.definition_diff import Change, DefinitionDiff
from tenuto.cli.views.tables import cell
from tenuto.cli.views.terminal import show, styled

if TYPE_CHECKING:
    from rich.text import Text

_LONGEST: Final = 60
_MARKS: Final = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


def show_diff(diff: DefinitionDiff, before: str, after: str) -> None:
    """A line for each step, edge and setting that differs."""
    if diff.is_empty:
        show(f"{before} and {after} are the same workflow")
        return
    show(f"{before} → {after}: {_counted(diff)}")
    lines = [
        *(_line("added", f"step {id}") for id in diff.added),
        *(_line("removed", f"step {id}") for id in diff.removed),
    ]
    for id, found in diff.changed.items():
        lines += [_line("changed", f"step {id}"), *_changes(found, "    ")]
    lines += [
        *(_line("added", f"edge {edge}") for edge in diff.added_edges),
        *(_line("removed", f"edge {edge}") for edge in diff.removed_edges),
        *_changes(diff.settings, ""),
    ]
    for line in lines:
        show(line)


def _counted(diff: DefinitionDiff) -> str:
    counts = (
        (len(diff.added), "step", "added"),
        (len(diff.removed), "step", "removed"),
        (len(diff.changed), "step", "changed"),
        (len(diff.added_edges) + len(diff.removed_edges), "edge", "changed"),
        (len(diff.settings), "setting", "changed"),
    )
    return ", ".join(
        f"{count} {noun}{'' if count == 1 else 's'} {what}" for count, noun, what in counts if count
    )


def _changes(found: Iterable[Change], indent: str) -> Iterable[Text]:
    for each in found:
        values = {
            "added": cell(each.after, _LONGEST),
            "removed": cell(each.before, _LONGEST),
            "changed": f"{cell(each.before, _LONGEST)} → {cell(each.after, _LONGEST)}",
        }
        yield _line(each.kind, f"{each.path}: {values[each.kind]}", indent)


def _line(kind: str, text: str, indent: str = "") -> Text:
    mark, style = _MARKS[kind]
    return styled(f"{indent}{mark}", style, f" {text}")
