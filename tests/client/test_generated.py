"""The client has every operation of the API, and each of its methods without an event loop."""

from __future__ import annotations

import inspect

from tenuto.api.registry import OPERATIONS
from tenuto.client.client import Client
from tenuto.client.instance import RemoteInstance
from tenuto.client.operations import Operations
from tenuto.client.sync import SyncClient, SyncInstance
from tests.client.generate import CLIENT, WIDGET_SOCKET, operations_module, sync_module


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_the_operations_are_as_the_registry_has_them() -> None:
    assert (CLIENT / "operations.py").read_text(encoding="utf-8") == operations_module()
    # The page of a widget alone has a token for its socket.
    assert public(Operations) == {each.name for each in OPERATIONS} - {WIDGET_SOCKET}


def test_the_blocking_client_is_as_the_client_is() -> None:
    assert (CLIENT / "sync.py").read_text(encoding="utf-8") == sync_module()
    assert public(Client) == public(SyncClient)
    assert public(RemoteInstance) <= public(SyncInstance)
    with SyncClient("http://127.0.0.1:1") as blocking:
        client = Client("http://127.0.0.1:1")
        parts = {name for name in vars(client) if not name.startswith("_")} - {"connection"}
        assert parts == {name for name in vars(blocking) if not name.startswith("_")}
        for name in parts - {"operations"}:
            assert public(type(getattr(client, name))) == public(type(getattr(blocking, name)))


def test_blocking_methods_take_what_the_others_take() -> None:
    for kind, twin in ((Client, SyncClient), (RemoteInstance, SyncInstance)):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name.startswith("_"):
                continue
            own = inspect.signature(getattr(twin, name)).parameters
            theirs = inspect.signature(method).parameters
            assert list(own.values())[1:] == list(theirs.values())[1:], name
