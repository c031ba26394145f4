from __future__ import annotations

from datetime import timedelta

from tenuto import Tenuto
from tenuto.store.parts.bulk import BulkRow
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
    assert dry.json == {"forgotten": {"instances": 3}, "dryRun": True}
    assert len(terminal.call("list", "-o", "json").json["items"]) == 3
    assert "3 instances forgotten" in terminal.call("prune", "--older-than", "PT0S").out
    assert terminal.call("list", "-o", "json").json["items"] == []
    assert terminal.call("verify").code == 0


def test_prune_has_lines_in_the_audit_log_with_its_reason(terminal: Terminal) -> None:
    terminal.past(_live)
    terminal.call("prune", "--older-than", "PT0S", "--dry-run")
    assert terminal.call("audit", "list", "-o", "json").json["items"] == []
    assert terminal.call("prune", "--older-than", "PT0S", "--reason", "the law").code == 0
    done, asked = terminal.call("audit", "list", "-o", "json").json["items"]
    assert (asked["action"], asked["outcome"]) == ("prune_instances", "asked")
    assert (asked["target"], asked["after"]) == ("all tenants", {"reason": "the law"})
    assert done["after"]["forgotten"]["instances"] == 3


def test_prune_of_a_server_names_what_forgets_there(terminal: Terminal) -> None:
    refused = terminal.call("prune", "--server", "http://127.0.0.1:1")
    assert refused.code == 2
    assert "engine.instance_retention" in refused.err
    assert "--store" not in refused.err


async def _other_tenants_live(app: Tenuto) -> None:
    for tenant in ("default", "acme"):
        space = app.workspace(tenant, "test")
        await space.deploy({**DOUBLE, "id": "double"})
        await (await space.start("double", 1)).result()
    await app.engine.store.bulk.put(
        BulkRow(
            tenant="acme",
            id="b1",
            content=b"{}",
            progress=b"{}",
            created_at=app.engine.clock.now() - timedelta(days=31),
            is_open=False,
        )
    )


def test_prune_goes_over_every_tenant_and_tells_each_kind(terminal: Terminal) -> None:
    terminal.past(_other_tenants_live)
    one = terminal.call("prune", "--older-than", "PT0S", "--tenant", "acme", "-o", "json")
    assert one.json == {"forgotten": {"instances": 1}, "dryRun": False}
    told = terminal.call("prune", "--older-than", "PT0S")
    assert "1 instance forgotten" in told.out
    assert "1 bulk operation forgotten" in told.out
    again = terminal.call("prune", "--older-than", "PT0S", "-o", "json").json["forgotten"]
    assert again == {
        "instances": 0,
        "events": 0,
        "listeners": 0,
        "bulkOperations": 0,
        "testRuns": 0,
    }


def test_a_length_of_time_that_is_none_is_refused(terminal: Terminal) -> None:
    ended = terminal.call("prune", "--older-than", "a year")
    assert ended.code == 2
    assert "TEN-2630" in ended.err
