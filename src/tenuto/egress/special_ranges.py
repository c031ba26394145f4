"""Special-purpose ranges of addresses: no endpoint of the public network is in one of them.

The rows of the IANA registries for special-purpose addresses of IPv4 and IPv6, of multicast, and
addresses at which clouds serve credentials to their machines. The standard library's `is_global`
differs between versions of Python, and has no row for the clouds.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

IPV4 = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private use
    "100.64.0.0/10",  # shared by customers of a provider; 100.100.100.200 is a cloud's metadata
    "127.0.0.0/8",  # loopback
    "168.63.129.16/32",  # metadata of a cloud, in its public range
    "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata of most clouds
    "172.16.0.0/12",  # private use
    "192.0.0.0/24",  # protocol assignments, all of its parts; 192.0.0.192 is a cloud's metadata
    "192.0.2.0/24",  # documentation
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # AMT
    "192.88.99.0/24",  # relays of 6to4, and 6a44
    "192.168.0.0/16",  # private use
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved; 255.255.255.255 is the broadcast address
)
IPV6 = (
    "::/3",  # loopback, unspecified, discard-only, NAT64 and all that is outside of 2000::/3
    "2001::/23",  # protocol assignments, all of its parts: Teredo, benchmarks, ORCHID, …
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4
    "2620:4f:8000::/48",  # AS112
    "3fff::/20",  # documentation
    "4000::/2",  # not allocated; 5f00::/16 is segment routing
    "8000::/1",  # not allocated, private use, link-local, site-local, multicast
)
_SPECIAL_4 = tuple(map(IPv4Network, IPV4))
_SPECIAL_6 = tuple(map(IPv6Network, IPV6))
_OTHER_FORMS = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""IPv4 addresses in another form, mapped and by NAT64: where it leads to counts."""


def is_special(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is in a special-purpose range, in whichever form it is written."""
    address = _plain(address)
    ranges = _SPECIAL_4 if isinstance(address, IPv4Address) else _SPECIAL_6
    return any(address in each for each in ranges)


def plain_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address that a text is: IPv4, where it leads to one; None if it is no address."""
    try:
        return _plain(ip_address(text.partition("%")[0]))
    except ValueError:
        return None


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv6Address) and any(address in each for each in _OTHER_FORMS):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
