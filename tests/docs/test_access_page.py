"""The page about access names what has no line in the audit log."""

from __future__ import annotations

import re

from tenuto.access.permissions import Permission
from tenuto.api.registry import OPERATIONS
from tests.docs.blocks import ROOT


def test_every_change_without_an_audit_line_is_named() -> None:
    page = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
    [said] = [
        each for each in page.split("\n\n") if each.startswith("Work on attempts has no lines")
    ]
    exempt = {
        each.name
        for each in OPERATIONS
        if not each.is_audited and each.permission == Permission.EXECUTIONS_WORK
    }
    assert exempt
    # A public one; the other callbacks write their lines themselves.
    exempt.add("task_callback")
    audited = {each.name for each in OPERATIONS if each.is_audited}
    named = {each for each in re.findall(r"`(\w+)`", said) if each in {o.name for o in OPERATIONS}}
    assert named - audited == exempt
    assert named & audited == {"register_worker"}
