"""Every back end of the workspace has the names, parameters and results of the protocol.

mypy checks the types, in `back_ends` and `instances`; parameters and their defaults are compared
here.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Protocol, get_type_hints

import pytest

from tenuto import Client, InstanceRef, Tenuto
from tenuto.cli.backends.store_instance import StoreInstance
from tenuto.cli.backends.store_workspace import StoreWorkspace
from tenuto.client import RemoteInstance
from tenuto.workspace import protocol
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.protocol import Instance, Workspace


def back_ends(
    app: Tenuto, client: Client, workspace: EngineWorkspace, beside: StoreWorkspace
) -> list[Workspace]:
    return [app, client, workspace, beside]


def instances(here: InstanceRef, there: RemoteInstance, beside: StoreInstance) -> list[Instance]:
    return [here, there, beside]


def members(kind: type) -> Iterator[tuple[str, object]]:
    for name, member in vars(kind).items():
        if not name.startswith("_"):
            yield name, member


def agree(wanted: type, found: type) -> None:
    """A back end may take more than the protocol has; that has a default."""
    for name, member in members(wanted):
        if not inspect.isfunction(member):
            continue
        asked = inspect.signature(member).parameters
        taken = inspect.signature(getattr(found, name)).parameters
        assert {**asked} == {key: taken[key] for key in asked}, (found, name)
        extra = [each for key, each in taken.items() if key not in asked]
        assert all(each.default is not each.empty for each in extra), (found, name)


@pytest.fixture(scope="module")
def app() -> Tenuto:
    return Tenuto()


@pytest.fixture(scope="module")
def client() -> Client:
    return Client("http://127.0.0.1:1")


@pytest.fixture(scope="module")
def beside() -> StoreWorkspace:
    return StoreWorkspace("sqlite:///none.db")


def test_workspaces_take_the_same_arguments(
    app: Tenuto, client: Client, beside: StoreWorkspace
) -> None:
    for each in back_ends(app, client, app.workspace("default", "ann"), beside):
        agree(Workspace, type(each))


def test_instances_take_the_same_arguments(
    app: Tenuto, client: Client, beside: StoreWorkspace
) -> None:
    for each in instances(app.at("i-1"), client.at("i-1"), beside.at("i-1")):
        agree(Instance, type(each))


def test_the_parts_of_workspaces_take_the_same_arguments(
    app: Tenuto, client: Client, beside: StoreWorkspace
) -> None:
    parts = {
        name: get_type_hints(member.fget)["return"]
        for name, member in members(Workspace)
        if isinstance(member, property)
    }
    workspace = app.workspace("default", "ann")
    for name, wanted in parts.items():
        for back_end in (workspace, client, beside):
            agree(wanted, type(getattr(back_end, name)))
    kinds = {each for _, each in members(protocol) if isinstance(each, type)}  # type: ignore[arg-type]
    protocols = {each for each in kinds if Protocol in each.__bases__}
    assert protocols == {Workspace, Instance, *parts.values()}
