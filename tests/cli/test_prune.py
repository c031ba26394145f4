from __future__ import annotations

from tenuto import Tenuto
from tests.cli.conftest import DOUBLE, Terminal


async def _live(app: Tenuto) -> None:
    await app.deploy({**DOUBLE, "id": "double"})
    for number in range(3):
        await (await app.start("double", number)).result()


def test_prune_forgets_what_ended_long_ago(terminal: Terminal) -> None:
    terminal.past(_live)
    assert "0 instances forgotten" in terminal.call("prune").out
    assert "0 instances" in terminal.call("prune", "--older-than", "P1D").out
    dry = terminal.call("prune", "--older-than", "PT0S", "--dry-run", "-o", "json")
    assert dry.json == {"forgotten": 3, "dryRun": True}
    assert len(terminal.call("list", "-o", "json").json["items"]) == 3
    assert "3 instances forgotten" in terminal.call("prune", "--older-than", "PT0S").out
    assert terminal.call("list", "-o", "json").json["items"] == []
    assert terminal.call("verify").code == 0


def test_a_length_of_time_that_is_none_is_refused(terminal: Terminal) -> None:
    ended = terminal.call("prune", "--older-than", "a year")
    assert ended.code == 2
    assert "TEN-2630" in ended.err
