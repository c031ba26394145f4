"""The names of targets that are no declared tasks: hosts and data sources."""

from __future__ import annotations

from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from tenuto.model.own_names import BUILT_IN
from tenuto.targets.states import TargetKey

_PORTS = {"http": 80, "https": 443}


class Host(NamedTuple):
    """The host of a URL."""

    name: str
    port: int | None
    """None: the usual one."""

    def __str__(self) -> str:
        return self.name if self.port is None else f"{self.name}:{self.port}"


def host_of(url: str) -> Host:
    """The host that a URL names; ValueError."""
    parts = urlsplit(url)
    port = None if parts.port == _PORTS.get(parts.scheme) else parts.port
    return Host((parts.hostname or "").rstrip("."), port)


def target_key(tenant: str, kind: Literal["http", "data"], name: str) -> TargetKey:
    """The key of a host or a data source; no task can have such an id."""
    return tenant, f"{BUILT_IN}{kind}:{name}"


def kind_of(key: TargetKey) -> str:
    """The kind of a target: `http`, `data`."""
    return key[1].partition(":")[0].removeprefix(BUILT_IN)


def name_of(key: TargetKey) -> str:
    """The host, or the id of the data source."""
    return key[1].partition(":")[2]
