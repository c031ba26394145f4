"""Addresses that requests may be sent to: public ones, and private ones if allowed."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_UNICAST = IPv6Network("2000::/3")
"""The allocated public part of IPv6; addresses outside of it have special purposes."""
_DOCUMENTATION = IPv6Network("3fff::/20")
"""Older versions of Python count it as public."""


def address_problem(text: str) -> str | None:
    """Why an address is not public; None if it is public, or not an address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    for each in _meant(address):
        if not _is_public(each):
            return f"{text} is not an address of the public network"
    return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if not address.is_global or address.is_multicast:
        return False
    return isinstance(address, IPv4Address) or (
        address in _UNICAST and address not in _DOCUMENTATION
    )


def _meant(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """The addresses to judge: the address itself, or the IPv4 address that is embedded in it."""
    if isinstance(address, IPv4Address):
        return [address]
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address.teredo is not None:
        inner = address.teredo[1]
    if inner is None and any(address in network for network in (_NAT64, _COMPATIBLE)):
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    if inner is None:
        return [address]
    # An IPv4 address in another form: its target counts.
    return [inner]
