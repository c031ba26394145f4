"""`tenuto reindex` has instances found by their values that a program without that index wrote."""

from __future__ import annotations

import apsw

from tenuto import Tenuto
from tests.cli.conftest import DOUBLE, Terminal


async def _live(app: Tenuto) -> None:
    for id in ("double", "other"):
        await app.deploy({**DOUBLE, "id": id, "options": {"searchable": ["input"]}})
        await (await app.start(id, 21)).result()


def _found(terminal: Terminal, workflow: str) -> int:
    listed = terminal.call("list", "--workflow", workflow, "--variable", "input=21", "-o", "id")
    return len(listed.out.split())


def test_reindex_has_instances_found_that_were_not(terminal: Terminal) -> None:
    terminal.past(_live)
    connection = apsw.Connection(terminal.store.removeprefix("sqlite:///"))
    connection.execute("DELETE FROM workflow_searchable_values")
    connection.close()
    assert (_found(terminal, "double"), _found(terminal, "other")) == (0, 0)
    one = terminal.call("reindex", "--workflow", "double")
    assert (one.code, "1 instance indexed" in one.out) == (0, True), one.err
    assert (_found(terminal, "double"), _found(terminal, "other")) == (1, 0)
    assert terminal.call("reindex", "-o", "json").json == {"indexed": 2}
    assert (_found(terminal, "double"), _found(terminal, "other")) == (1, 1)
    assert terminal.call("verify").code == 0


def test_reindex_of_a_workflow_that_is_not_there_is_refused(terminal: Terminal) -> None:
    terminal.past(_live)
    refused = terminal.call("reindex", "--workflow", "duble")
    assert (refused.code, "TEN-2002" in refused.err) == (3, True), refused
