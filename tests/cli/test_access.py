"""Keys and the audit log, from a terminal."""

from __future__ import annotations

import asyncio
import json

import apsw

from tenuto.access.audit import AuditLog
from tenuto.access.authenticator import Authenticator
from tenuto.access.principal import LOCAL
from tenuto.compose import open_store
from tenuto.ports import SystemClock, SystemIds
from tests.cli.conftest import Terminal


def database(terminal: Terminal) -> apsw.Connection:
    return apsw.Connection(str(terminal.folder / "store.db"))


def test_a_key_is_made_shown_once_listed_and_revoked(terminal: Terminal) -> None:
    made = terminal.call("keys", "create", "build", "--role", "operator", "--scope", "instances:*")
    assert made.code == 0
    text = next(word for word in made.out.split() if word.startswith("tnt_"))
    listed = terminal.call("keys", "list")
    assert all(word in listed.out for word in ("build", "operator", "instances:*", "active"))
    assert text.rpartition("_")[2] not in listed.out
    [item] = terminal.call("keys", "list", "-o", "json").json["items"]
    assert (item["name"], item["state"], item["createdBy"]) == ("build", "active", "cli")
    assert "hash" not in item
    assert terminal.call("keys", "list", "-o", "id").out.strip() == item["id"]
    assert terminal.call("keys", "revoke", item["id"]).code == 0
    assert "revoked" in terminal.call("keys", "list").out
    again = terminal.call("keys", "revoke", "0" * 16)
    assert (again.code, "TEN-5016" in again.err) == (3, True)
    empty = terminal.call("keys", "list", "--tenant", "acme").err
    assert "no keys" in empty
    assert "tenuto keys create NAME --role admin" in empty
    assert "tenuto start" in terminal.call("audit", "list", "--tenant", "acme").err
    assert "tenuto audit list" in terminal.call("audit", "list", "--action", "none").err


def test_a_key_opens_the_store_that_it_was_made_for(terminal: Terminal) -> None:
    made = terminal.call(
        *("keys", "create", "x", "--role", "admin", "--tenant", "acme", "--expires", "P90D"),
        *("-o", "json"),
    ).json
    assert made["expiresAt"] > made["createdAt"]

    async def who() -> tuple[str, str]:
        clock = SystemClock()
        store = open_store(terminal.store)
        await store.open("p1", clock.now())
        gate = Authenticator(store.access, clock)
        principal = await gate.authenticate(f"Bearer {made['key']}", clock.now())
        await gate.close()
        await store.close(clock.now(), clean=True)
        return principal.tenant, principal.role

    assert asyncio.run(who()) == ("acme", "admin")


def test_what_is_wrong_with_a_key_is_told_with_its_code(terminal: Terminal) -> None:
    refused = terminal.call("keys", "create", " ", "--role", "viewer", "--scope", "all")
    assert refused.code == 2
    assert refused.err.count("TEN-2401") >= 2
    imitated = terminal.call("keys", "create", "key:8d553c149da3b432", "--role", "viewer")
    assert (imitated.code, "TEN-2401" in imitated.err) == (2, True)
    for moment in ("tomorrow", "9999-12-31T23:59:59-14:00"):
        late = terminal.call("keys", "create", "x", "--role", "viewer", "--expires", moment)
        assert (late.code, "TEN-2401" in late.err) == (2, True)
    early = terminal.call("audit", "list", "--from", "0001-01-01T00:00:00+14:00")
    assert (early.code, "TEN-2402" in early.err) == (2, True)
    assert terminal.call("keys", "create", "x", "--role", "king").code == 2


def test_what_was_done_is_listed_exported_and_proved(terminal: Terminal) -> None:
    for name in ("one", "two", "three"):
        terminal.call("keys", "create", name, "--role", "viewer")
    listed = terminal.call("audit", "list", "--action", "create_key")
    assert listed.out.count("create_key") == 6
    assert '"name":"one"' in listed.out
    page = terminal.call("audit", "list", "--limit", "2", "-o", "json").json
    assert ([item["number"] for item in page["items"]], page["nextCursor"]) == ([6, 5], "5")
    rest = terminal.call("audit", "list", "--cursor", "2", "-o", "json").json
    assert ([item["number"] for item in rest["items"]], rest["nextCursor"]) == ([1], None)
    whole = terminal.call("audit", "list", "--limit", "1", "--all", "-o", "json").json
    assert [each["number"] for each in whole["items"]] == [6, 5, 4, 3, 2, 1]
    misread = terminal.call("audit", "list", "--cursor", "two")
    assert (misread.code, "--cursor" in misread.err, "$.cursor" in misread.err) == (2, True, False)
    assert terminal.call("audit", "list", "--from", "2999-01-01T00:00:00Z").out == ""
    wrong = terminal.call("audit", "list", "--to", "yesterday")
    assert (wrong.code, "TEN-2402" in wrong.err) == (2, True)
    exported = terminal.call("audit", "export")
    assert terminal.call("audit", "export", "-o", "json").out == exported.out
    lines = [json.loads(line) for line in exported.out.splitlines()]
    assert [(line["outcome"], line["after"] and line["after"]["name"]) for line in lines] == [
        *(("asked", None), ("done", "one")),
        *(("asked", None), ("done", "two")),
        *(("asked", None), ("done", "three")),
    ]
    assert [line["previousHash"] for line in lines] == ["", *(each["hash"] for each in lines[:-1])]
    proved = terminal.call("audit", "verify", "-o", "json").json
    assert (proved["lines"], proved["hash"]) == (6, lines[5]["hash"])
    assert "6 lines" in terminal.call("audit", "verify").out


def test_a_log_that_was_changed_is_found_out(terminal: Terminal) -> None:
    for name in ("one", "two"):
        terminal.call("keys", "create", name, "--role", "viewer")
    proved = terminal.call("audit", "verify", "-o", "json").json
    known = f"4:{proved['hash']}"
    assert terminal.call("audit", "verify", "--known", known).code == 0
    assert terminal.call("audit", "verify", "--known", f"3:{proved['hash']}").code == 1
    assert terminal.call("audit", "verify", "--known", "2").code == 1
    assert terminal.call("audit", "verify", "--known", "two:abc").code == 2
    connection = database(terminal)
    connection.execute("UPDATE audit_log SET actor = 'eve' WHERE number = 1")
    connection.close()
    refused = terminal.call("audit", "verify")
    assert (refused.code, "line 1 was changed" in refused.err) == (1, True)
    told = terminal.call("audit", "verify", "-o", "json")
    assert (told.code, told.json["problem"]["number"]) == (1, 1)


def test_a_name_does_nothing_to_the_terminal(terminal: Terminal) -> None:
    terminal.call("migrate")

    async def written() -> None:
        clock = SystemClock()
        store = open_store(terminal.store)
        await store.open("p1", clock.now())
        name = "i1\r\n2 done admin\x1b[31m\u202e :smile:"
        await AuditLog(store.audit, clock, SystemIds()).record(
            principal=LOCAL, action="cancel", target=name, outcome="done", after={"n": name}
        )
        await store.close(clock.now(), clean=True)

    asyncio.run(written())
    for command in ("list", "export"):
        out = terminal.call("audit", command).out
        assert not {"\r", "\x1b", "\u202e"} & set(out)
        assert "\\u000d\\u000a2 done admin\\u001b" in out or "\\r\\n2 done admin\\u001b" in out
        assert ":smile:" in out
    [line] = terminal.call("audit", "export").out.splitlines()
    assert json.loads(line)["target"] == "i1\r\n2 done admin\x1b[31m\u202e :smile:"
