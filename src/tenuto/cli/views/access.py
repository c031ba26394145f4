"""API keys and lines of the audit log as tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tenuto.access.shown import plain
from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import ago
from tenuto.model.json import Object

if TYPE_CHECKING:
    from rich.text import Text

_STATES: Final = {"active": "green", "expired": "yellow", "revoked": "red"}
_OUTCOMES: Final = {"asked": "dim", "done": "green", "failed": "yellow", "refused": "red"}


def keys_table(found: Sequence[Object], now: datetime) -> Text:
    """API keys, a line each."""
    from rich.text import Text

    cells: list[list[str | Text]] = []
    for each in found:
        state, scopes, used = str(each["state"]), each["scopes"], each["lastUsedAt"]
        cells.append(
            [
                str(each["id"]),
                Text(state, _STATES.get(state, "")),
                str(each["role"]),
                plain(str(each["name"])),
                " ".join(map(str, scopes)) if isinstance(scopes, list) else "all",
                "never" if used is None else ago(datetime.fromisoformat(str(used)), now),
                str(each["expiresAt"] or "never"),
                plain(str(each["createdBy"])),
            ]
        )
    names = ("ID", "STATE", "ROLE", "NAME", "SCOPES", "USED", "EXPIRES", "BY")
    return table_of(names, cells, whole=3)


def audit_table(lines: Sequence[Object]) -> Text:
    """Lines of the audit log."""
    from rich.text import Text

    cells: list[list[str | Text]] = []
    for line in lines:
        outcome = str(line["outcome"])
        cells.append(
            [
                str(line["number"]),
                str(line["at"]),
                Text(outcome, _OUTCOMES.get(outcome, "")),
                plain(f"{line['kind']} {line['actor']}"),
                plain(str(line.get("credential") or "")),
                *(plain(str(line[name])) for name in ("action", "target")),
                plain(_change(line)),
                *(plain(str(line[name])) for name in ("source", "requestId")),
            ]
        )
    who, what = ("ACTOR", "CREDENTIAL"), ("ACTION", "TARGET", "CHANGE", "FROM", "REQUEST")
    return table_of(("NUMBER", "AT", "OUTCOME", *who, *what), cells, whole=3)


def _change(line: Object) -> str:
    """`REASON: BEFORE → AFTER`, as far as each is recorded: a narrow terminal cuts the end."""
    before, after = (line.get(name) for name in ("before", "after"))
    reason = ""
    if isinstance(after, dict) and isinstance(after.get("reason"), str):
        reason = cell(after["reason"], 200)
        after = {name: each for name, each in after.items() if name != "reason"} or None
    said = " → ".join(cell(each, 200) for each in (before, after) if each is not None)
    return ": ".join(each for each in (reason, said) if each)
