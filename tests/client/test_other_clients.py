"""Clients that are not ours: one made from our document, and the public SDK of CloudEvents."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

from tenuto.api.openapi import openapi
from tenuto.api.registry import OPERATIONS
from tests.api.conftest import DOUBLE, WAIT, served


def made_client(folder: Path) -> None:
    """The client that a tool makes of our document, as a package `made`."""
    (folder / "openapi.json").write_text(json.dumps(openapi(OPERATIONS)))
    # Its output is formatted for people by hooks, of which nobody reads anything here.
    (folder / "settings.yml").write_text("post_hooks: []\n")
    options = ["--path", "openapi.json", "--output-path", "made", "--meta", "none"]
    options += ["--config", "settings.yml"]
    done = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", "generate", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    # It makes nothing of bodies that are no JSON: exports, streams and files of dates.
    left_out = ("Unsupported content_type", "Unsupported content type text/calendar")
    assert said.count("WARNING") == sum(map(said.count, left_out)), said


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_client_made_from_the_document_starts_and_follows_a_workflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(made_client, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("made.client")
    models = importlib.import_module("made.models")

    def asking(name: str) -> Any:  # noqa: ANN401 - a module that is made
        return importlib.import_module(f"made.api.{name}").asyncio

    async with served() as caller:
        await caller.app.deploy(DOUBLE)
        async with made.Client(base_url=caller.url) as client:
            body = models.StartRequest.from_dict({"input": {"number": 21}})
            started = await asking("instances.start_workflow")(
                "double", client=client, body=body, idempotency_key="made"
            )
            found = await asking("instances.get_instance")(
                started.instance_id, client=client, wait=30.0
            )
            log = await asking("instances.get_history")(started.instance_id, client=client)
            refused = await asking("instances.get_instance")("nothing", client=client)
    assert (found.status.value, found.output) == ("COMPLETED", 42)
    assert [each.seq for each in log.items] == list(range(1, len(log.items) + 1))
    assert (refused.status, refused.code) == (404, "TEN-3001")
    for name in [each for each in sys.modules if each.partition(".")[0] == "made"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.asyncio
@pytest.mark.parametrize("written", [to_structured_event, to_binary_event])
async def test_the_public_sdk_of_cloudevents_publishes(written: Any) -> None:  # noqa: ANN401
    event = CloudEvent(
        {"id": "c-1", "source": "/shop", "type": "payment.received", "specversion": "1.0"}
        | {"datacontenttype": "application/json"},
        {"orderId": 7},
    )
    message = written(event)

    def sent(url: str) -> dict[str, Any]:
        request = Request(url, data=message.body, headers=dict(message.headers), method="POST")
        with urlopen(request, timeout=60) as reply:
            answer: dict[str, Any] = json.load(reply)
            return answer

    async with served() as caller:
        await caller.app.deploy(WAIT)
        waiting = await caller.app.start("wait", {"orderId": 7})
        published = await asyncio.to_thread(sent, f"{caller.url}/api/v1/events")
        assert (published["duplicate"], published["resumed"]) == (False, 1)
        await waiting.result(timeout=30)
        again = await asyncio.to_thread(sent, f"{caller.url}/api/v1/events")
        assert again["duplicate"]
