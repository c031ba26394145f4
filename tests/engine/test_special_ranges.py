"""Every row of the registries of special-purpose addresses is refused, whatever Python says."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest

from tenuto.egress import address_problem

IPV4_REGISTRY = """
0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24
192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24
198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32
"""
IPV6_REGISTRY = """
::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128
2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28
2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10
"""
OTHERS = """
224.0.0.0/4 ff00::/8 fec0::/10 ::/96 200::/7 4000::/3 e000::/4
168.63.129.16/32 169.254.169.254/32 100.100.100.200/32 192.0.0.192/32 fd00:ec2::254/128
fd20:ce::254/128
"""
"""Multicast, deprecated and unallocated ranges, and the metadata services of clouds."""


@pytest.mark.parametrize("row", (IPV4_REGISTRY + IPV6_REGISTRY + OTHERS).split())
def test_no_address_of_a_special_purpose_range_is_public(row: str) -> None:
    network = ip_network(row)
    for address in (network[0], network[network.num_addresses // 2], network[-1]):
        assert address_problem(str(address)) is not None, address


@pytest.mark.parametrize("row", [each for each in (IPV4_REGISTRY + OTHERS).split() if "." in each])
@pytest.mark.parametrize("prefix", ["::ffff:0:0", "64:ff9b::", "::", "64:ff9b:1::", "2002::"])
def test_nor_is_one_in_any_form_of_ipv6(row: str, prefix: str) -> None:
    network = ip_network(row)
    for inner in (network[0], network[-1]):
        assert isinstance(inner, IPv4Address)
        shift = 80 if prefix == "2002::" else 0
        address = IPv6Address(int(IPv6Address(prefix)) | int(inner) << shift)
        assert address_problem(str(address)) is not None, address


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1"),
        *("168.63.129.15", "168.63.129.17", "169.253.0.1", "172.15.255.255", "172.32.0.0"),
        *("191.255.255.255", "192.0.1.0", "192.0.3.0", "198.17.255.255", "198.20.0.0"),
        *("203.0.114.0", "223.255.255.255", "2001:200::1", "2003::1", "2606:4700:4700::1111"),
        *("2620:4f:8001::1", "2a00:1450::1", "3ffe::1"),
    ],
)
def test_the_neighbours_of_the_ranges_are_public(address: str) -> None:
    assert address_problem(address) is None
