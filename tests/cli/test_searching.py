"""Searches of instances: one language in the command line and in the web UI, and saved views."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from tenuto import InvalidInput, Tenuto
from tenuto.cli import searched_list
from tenuto.cli.search import EXAMPLES, Search, read_search
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tests.cli.conftest import Terminal, one_of_each

SHARED = msgspec.json.decode(Path(__file__).with_name("searches.json").read_bytes())
NOW = datetime.fromisoformat(SHARED["now"])


def params_of(search: Search) -> Object:
    """The parameters of `GET /instances` that a search stands for."""
    which, variables = search
    given = msgspec.to_builtins(which)
    found: Object = {name: value for name, value in given.items() if value not in (None, [], ())}
    for name in ("status", "ids"):
        if name in found:
            found[name] = ",".join(given[name])
    for name, value in found.items():
        if isinstance(moment := getattr(which, _snake(name), None), datetime):
            found[name] = iso(moment)
        else:
            found[name] = value
    if not which.roots:
        found.pop("roots", None)
    if variables is not None:
        found["variables"] = msgspec.json.encode(variables).decode()
    return found


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


@pytest.mark.parametrize(("text", "expected"), SHARED["found"])
def test_a_search_means_the_same_as_in_the_web_ui(text: str, expected: Object) -> None:
    assert params_of(read_search(text, NOW)) == expected


@pytest.mark.parametrize(("text", "place", "message"), SHARED["refused"])
def test_a_search_is_refused_where_the_web_ui_refuses_it(
    text: str, place: str, message: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_search(text, NOW)
    [problem] = refused.value.problems
    assert message in problem.message
    assert problem.path == f"-q {place}"
    assert problem.advice


def test_every_example_of_a_qualifier_can_be_read() -> None:
    for name, example in EXAMPLES.items():
        within = "workflow:order " if name == "var" else ""
        read_search(within + example, NOW)


async def orders(app: Tenuto) -> None:
    await one_of_each(app)
    started = await app.start("refuse", {}, correlation_id="ORD-17")
    with pytest.raises(Exception, match="OUT_OF_STOCK"):
        await started.result(timeout=60)


def test_lists_and_actions_take_searches(terminal: Terminal) -> None:
    terminal.past(orders)

    def found(query: str) -> list[str]:
        items = terminal.call("list", "-q", query, "-o", "json").json["items"]
        return [each["workflowDefinitionId"] for each in items]

    assert found("ORD-17") == ["refuse"]
    assert found("text:out_of_stock") == ["refuse", "refuse"]
    assert found('text:"NONE left" correlation:ORD-17') == ["refuse"]
    assert found("text:nothing-like-that") == []
    assert found("status:waiting") == ["wait"]
    assert len(found("is:any")) == 4
    wrong = terminal.call("list", "-q", "colour:red status:odd")
    assert (wrong.code, wrong.err.count("TEN-2000")) == (2, 3)
    both = terminal.call("list", "-q", "status:failed", "--status", "FAILED")
    assert (both.code, "give one of the three" in both.err) == (2, True)
    dry = terminal.call("cancel", "-q", "status:active", "--dry-run", "-o", "json").json
    assert dry["matched"] == 1
    gone = terminal.call("cancel", "-q", "status:active text:WAIT", "--yes", "-o", "json")
    assert (gone.code, gone.json["done"]) == (0, 1)
    assert found("status:cancelled") == ["wait"]


def test_a_view_is_saved_listed_used_and_removed(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.past(orders)
    assert terminal.call("views", "save", "broken", "status:failed text:stock").code == 0
    assert terminal.call("views", "save", "bad", "colour:red").code == 2
    assert terminal.call("views", "save", "all", "status:failed").code == 2
    listed = terminal.call("views", "list", "-o", "json").json["items"]
    assert [each["name"] for each in listed] == ["all", "active", "failed", "waiting", "broken"]
    ids = terminal.call("list", "--view", "broken", "-o", "id").out.split()
    assert len(ids) == 2
    unknown = terminal.call("list", "--view", "brokn")
    assert (unknown.code, "broken" in unknown.err) == (3, True)
    assert terminal.call("views", "use", "broken").code == 0
    assert len(terminal.call("list", "-o", "id").out.split()) == 4, "a pipe is not changed"
    with monkeypatch.context() as patched:
        patched.setattr(searched_list, "data", lambda: type("Screen", (), {"is_terminal": True}))
        assert "WAITING" not in (shown := terminal.call("list")).out
        assert "view broken: status:failed text:stock; --view all lists all" in shown.err
        assert "WAITING" in terminal.call("list", "--view", "all").out
    assert terminal.call("views", "remove", "broken").code == 0
    assert terminal.call("views", "remove", "broken").code == 3
    (terminal.folder / "config" / "tenuto" / "views.json").write_text("no JSON")
    damaged = terminal.call("views", "list")
    assert (damaged.code, "TEN-2633" in damaged.err) == (2, True)
