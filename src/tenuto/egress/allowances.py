"""Hosts and networks that requests may be sent to although they are not of the public network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from types import MappingProxyType
from typing import NamedTuple

from tenuto.egress.special_ranges import is_special, plain_address

EVERY_TENANT = "*"
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_NAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*")
_MOST = 1_000


class Allowance(NamedTuple):
    """Private hosts and networks that may be called."""

    is_all: bool = False
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    """Names; `*.corp.example` is every name below that one."""

    def admits(self, text: str) -> bool:
        """Whether requests may be sent to an address, in whichever form it is written.

        Text that is no address is none that requests may be sent to.
        """
        address = plain_address(text)
        if address is None:
            return False
        return (
            self.is_all or not is_special(address) or any(address in each for each in self.networks)
        )

    def names(self, host: str) -> bool:
        """Whether a host is one of those that may have a private address."""
        if self.is_all:
            return True
        host = host.rstrip(".").lower()
        if host in self.hosts:
            return True
        labels = host.split(".")
        return any(f"*.{'.'.join(labels[at:])}" in self.hosts for at in range(1, len(labels)))

    def __or__(self, other: Allowance) -> Allowance:
        """Both together."""
        return Allowance(
            self.is_all or other.is_all, self.networks + other.networks, self.hosts | other.hosts
        )


PUBLIC = Allowance()
EVERYTHING = Allowance(is_all=True)


def allowance_of(entries: Iterable[str]) -> Allowance:
    """The allowance of hosts and networks; ValueError names the entry that is neither."""
    networks = list[IPv4Network | IPv6Network]()
    hosts = set[str]()
    for entry in entries:
        try:
            networks.append(ip_network(entry))
        except ValueError as error:
            name = entry.rstrip(".").lower()
            if "/" in entry or name.split(".")[-1].isdigit() or not _NAME.fullmatch(name):
                raise ValueError(f"{entry!r} is neither a host nor a network: {error}") from None
            hosts.add(name)
    if len(networks) + len(hosts) > _MOST:
        raise ValueError(f"more than {_MOST:,} hosts and networks")
    return Allowance(networks=tuple(networks), hosts=frozenset(hosts))


class Allowances:
    """The allowance of each tenant."""

    def __init__(
        self, entries: Mapping[str, Iterable[str]] = MappingProxyType({}), *, is_all: bool = False
    ) -> None:
        """Tenant → hosts and networks; those of `*` are for every tenant. ValueError.

        With `is_all` every tenant may call everything.
        """
        found = {tenant: allowance_of(each) for tenant, each in entries.items()}
        self._for_all = found.pop(EVERY_TENANT, PUBLIC)
        self._found = {tenant: self._for_all | each for tenant, each in found.items()}
        if is_all:
            self._for_all, self._found = EVERYTHING, {}

    def of(self, tenant: str) -> Allowance:
        """What a tenant may call beside the public network."""
        return self._found.get(tenant, self._for_all)
