"""Whom an address counts as where each may have so much and no more."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

_OF_ONE = 64
"""Bits of an IPv6 address that are the same for one customer: the rest they choose themselves."""


@lru_cache(maxsize=4_096)
def client_network(address: str) -> str:
    """An address of IPv4 is one of its own; one of IPv6 counts as its network."""
    if ":" not in address:
        return address
    try:
        read = ip_address(address)
    except ValueError:
        return address
    assert isinstance(read, IPv6Address), "it has colons"
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return str(IPv6Network((int(read), _OF_ONE), strict=False))
