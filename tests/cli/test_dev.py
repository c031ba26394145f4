"""`tenuto dev`: what a broken file, a taken port and a failing task look like on its terminal."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest

from tenuto import Retry, Tenuto, WorkflowFailed
from tenuto.cli.dev_events import DevEvents
from tenuto.cli.dev_files import deploy_files, read_files
from tenuto.cli.dev_hints import offered_starts, read_starts, say_what_to_try, started
from tenuto.cli.dev_sample import FILE, START, is_sample_wanted
from tenuto.cli.example_input import example_of
from tenuto.cli.positions import Located
from tenuto.cli.unserved_files import unserved
from tenuto.cli.views import terminal as terminal_views
from tenuto.cli.views.events import counted
from tenuto.config.config import Config, DevConfig
from tenuto.model.errors import InvalidInput
from tenuto.model.json import JSON, Object
from tests.api.conftest import DOUBLE, WAIT as WAITING
from tests.api.test_serve_command import TASKS, _doubled, _read_until, running
from tests.cli.conftest import Terminal

ORDER: Object = {
    "type": "object",
    "required": ["id", "amount", "lines"],
    "properties": {
        "id": {"type": "string"},
        "amount": {"type": "number", "minimum": 5},
        "lines": {"type": "array", "minItems": 1, "items": {"enum": ["a", "b"]}},
        "note": {"type": "string"},
    },
}
BROKEN = '{"id": "broken", "steps": [{"stepId": "a"}]}'


def test_a_faulty_definition_leaves_the_others_and_its_last_version_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "double.json", tmp_path / "broken.json"
    good.write_text(json.dumps(DOUBLE))
    bad.write_text(json.dumps({**DOUBLE, "id": "broken"}))

    async def main() -> None:
        async with Tenuto() as app:
            for expected in (2, 1):
                read = read_files((), [bad, good], "definitions")
                deployed = await deploy_files(app, read, print, "definitions")
                assert len(deployed) == expected
                assert (await app.definition("broken")).version == 1
                bad.write_text(BROKEN)

    asyncio.run(main())
    said = capsys.readouterr().err
    assert "TEN-1011" in said
    assert "broken.json is left out" in said.replace("\n", "")


@pytest.mark.parametrize("text", ["", "{", '{"id": "x", "st', BROKEN])
def test_a_file_that_is_half_saved_is_left_out_with_its_place(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    half = tmp_path / "half.json"
    half.write_text(text)
    assert read_files((), [half], "files").definitions == []
    assert "TEN-10" in capsys.readouterr().err
    with pytest.raises((Located, Exception), match=r"half\.json|Expecting|not JSON|error"):
        read_files((), [half], "none")


def test_code_that_cannot_be_loaded_is_left_to_the_process_that_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = tmp_path / "raising_tasks.py"
    module.write_text("raise RuntimeError('broken module')\n")
    with pytest.raises(InvalidInput):
        read_files([str(module)], (), "definitions")
    beside = tmp_path / "tasks.py"
    beside.write_text("raise RuntimeError('broken module')\n")
    definition = tmp_path / "double.json"
    definition.write_text(json.dumps(DOUBLE))
    with pytest.raises(InvalidInput):
        read_files((), [definition], "definitions")
    assert read_files([str(module)], (), "files").definitions == []
    said = capsys.readouterr().err
    assert "RuntimeError: broken module" in said
    assert "raising_tasks.py:1" in said
    assert "Traceback" not in said


def test_a_failing_task_is_told_with_step_attempt_next_try_and_one_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def main() -> None:
        async with Tenuto() as app:

            @app.task(retry=Retry(attempts=3, first="PT0.01S"))
            async def charge(value: object) -> None:
                raise ValueError("no ink")

            app.engine.listen(DevEvents().show)
            await app.deploy(
                {"id": "o", "steps": [{"stepId": "s", "type": "TASK", "taskId": "charge"}]}
            )
            with pytest.raises(WorkflowFailed):
                await (await app.start("o", 1)).result(timeout=60)

    asyncio.run(main())
    said = capsys.readouterr().err
    assert "s, attempt 1: ValueError: no ink; next try in " in said
    assert "s, attempt 3: ValueError: no ink; not tried again" in said.replace("\n", " ")
    assert said.count("Traceback (most recent call last)") == 1
    assert "in charge" in said
    assert "tasks/" not in said
    assert "failed after" in said


def test_a_port_that_is_taken_is_told_with_its_code(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = terminal.call("dev", "--port", str(taken.getsockname()[1]))
    assert (ended.code, "TEN-4020" in ended.err, "--port" in ended.err) == (5, True, True)


def test_a_folder_that_cannot_be_written_is_told_with_its_code(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    del terminal.environment["TENUTO_STORE"]
    monkeypatch.setattr(Path, "mkdir", refused)
    for words in (("dev", "--no-reload", "--port", "0"), ("serve", "--port", "0")):
        ended = terminal.call(*words)
        assert (ended.code, "TEN-4004" in ended.err) == (5, True), ended.err


def test_a_sample_waits_the_second_time_too(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with Tenuto() as app:
            await app.deploy(WAITING)
            wanted = read_starts(["wait={}", "nothing"])
            [first] = await started(app, wanted)
            assert [each.id for each in await started(app, wanted)] == [first.id]
            await first.cancel("done")
            [second] = await started(app, wanted)
            assert second.id != first.id
            assert [each.id for each in await started(app, wanted)] == [second.id]
            assert [each.id for each in await started(app, wanted, is_again=True)] == [first.id]

    asyncio.run(main())
    assert "--start nothing: no instance was started" in capsys.readouterr().err


def test_an_empty_folder_has_a_sample_and_is_told_how_to_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def main() -> None:
        async with Tenuto() as app:
            read = read_files((), [FILE], "none")
            sources = await deploy_files(app, read, lambda _: None, "none")
            wanted = read_starts([START])
            [order] = await started(app, wanted)
            where = "http://127.0.0.1:1", sources, wanted, [order], asyncio.Event()
            await say_what_to_try(*where, flag="", sample_in="store")
            await say_what_to_try("http://127.0.0.1:1", [], [], [], asyncio.Event(), flag="")
            paid: Object = {"orderId": "A1", "id": "p", "amount": 1}
            assert counted(await app.publish("payment.received", paid)) == "1 wait resumed"

    asyncio.run(main())
    sample, _, nothing = capsys.readouterr().err.partition("No definition is served")
    assert "a built-in sample is served, an order kept in store" in sample
    assert "events send payment.received" in sample
    assert "tenuto init" in sample
    assert "In an empty folder `tenuto dev` serves a sample" in nothing


def test_only_an_empty_folder_with_its_own_store_has_a_sample(tmp_path: Path) -> None:
    (tmp_path / ".tenuto").mkdir()
    assert is_sample_wanted(Config(), tmp_path)
    assert not is_sample_wanted(Config(store="postgresql://db.example/x"), tmp_path)
    assert not is_sample_wanted(Config(tasks=("shop.tasks",)), tmp_path)
    assert not is_sample_wanted(Config(dev=DevConfig(files=("a.json",))), tmp_path)
    assert not is_sample_wanted(Config(), tmp_path / "nowhere")
    (tmp_path / "notes.txt").touch()
    assert not is_sample_wanted(Config(), tmp_path)


def test_a_new_definition_that_no_setting_names_is_not_served(tmp_path: Path) -> None:
    flow = "from tenuto import workflow\n\n@workflow\ndef {}(order): ...\n"
    texts = {
        "flows.py": f"import parts\n{flow.format('flow')}",
        "parts.py": flow.format("part"),
        "trips.py": flow.format("trip"),
        "test_trips.py": flow.format("tested"),
        "helper.py": "def helper(): ...",
        "half.py": "def (",
        "order.json": json.dumps(DOUBLE),
        "data.json": "[1, 2]",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    changed = [tmp_path / name for name in [*texts, "gone.py"]]
    found = unserved(changed, [tmp_path / "flows.py"])
    assert [each.name for each in found] == ["order.json", "trips.py"]
    assert unserved(changed, [*found, tmp_path / "flows.py"]) == []


@pytest.mark.parametrize(
    ("called", "path", "printed"),
    [
        (".venv/bin/tenuto", "", ".venv/bin/tenuto list"),
        (".venv/bin/tenuto", "bin", "tenuto list"),
        ("/x/tenuto/__main__.py", "", "tenuto list"),
        ("my folder/tenuto", "", "'my folder/tenuto' list"),
    ],
)
def test_a_command_is_printed_as_a_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, path: str, printed: str
) -> None:
    program = tmp_path / ".venv" / "bin" / "tenuto"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENUTO_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(program.parent) if path else "/nowhere")
    monkeypatch.setattr("sys.argv", [called])
    terminal_views.program.cache_clear()
    assert terminal_views.as_called("tenuto list") == printed
    terminal_views.program.cache_clear()


@pytest.mark.slow
def test_code_that_raises_is_not_taken_over_and_two_saves_are_one_state(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "double.json").write_text(json.dumps(DOUBLE))
    (tmp_path / "broken.json").write_text(BROKEN)
    with running("dev", "double.json", "broken.json", folder=tmp_path) as (process, url):
        assert _doubled(url, 3) == 6
        (tmp_path / "tasks.py").write_text(TASKS + "\nraise RuntimeError('broken module')\n")
        said = _read_until(process, "Still serving what was there before")
        assert "RuntimeError: broken module" in said
        assert "Traceback" not in said
        assert _doubled(url, 3) == 6
        (tmp_path / "tasks.py").write_text(TASKS.replace("* 2", "* 20"))
        _read_until(process, "reload  tasks.py changed")
        (tmp_path / "tasks.py").write_text(TASKS.replace("* 2", "* 200"))
        _read_until(process, "reload  tasks.py changed")
        _read_until(process, "serving http")
        assert _doubled(url, 3) == 600


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        (ORDER, {"id": "text", "amount": 5, "lines": ["a"]}),
        ({"type": "object"}, {}),
        ({"type": ["string", "null"], "format": "date"}, "2030-01-31"),
        ({"default": [1]}, [1]),
        (True, {}),
    ],
)
def test_an_example_input_has_the_required_fields_by_their_types(
    schema: JSON, example: JSON
) -> None:
    assert example_of(schema) == example


def test_a_start_with_an_example_input_is_offered_where_the_schema_takes_it(
    tmp_path: Path,
) -> None:
    for name, schema in (("good", ORDER), ("odd", {"type": "string", "pattern": "^x$"})):
        document = {**DOUBLE, "id": name, "inputSchema": schema}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    files = [tmp_path / "good.json", tmp_path / "odd.json"]
    sources = [each for _, found in read_files((), files, "none").definitions for each in found]
    assert offered_starts(sources, ()) == [
        """good --input '{"id":"text","amount":5,"lines":["a"]}'"""
    ]
