"""The client network of an address, which rate limits and other bounds count by."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

_OF_ONE = 64
"""Bits of an IPv6 address that are the same for one customer, who chooses the rest freely."""


@lru_cache(maxsize=4_096)
def client_network(address: str) -> str:
    """The network that an address counts as: itself for IPv4, the /64 for IPv6."""
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
