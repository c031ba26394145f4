"""A corpus of URLs that lead to private addresses: each is refused before any connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

import pytest
from aiohttp.abc import ResolveResult

from tenuto.egress import Allowances, EgressClient, NoAnswer, Request, url_problem
from tenuto.egress.lookups import Name
from tests.kit.breadth import breadth

pytestmark = pytest.mark.asyncio

PRIVATE = (
    *("127.0.0.1", "127.8.9.10", "10.1.2.3", "172.16.0.1", "172.31.255.254", "192.168.1.1"),
    *("169.254.169.254", "0.0.0.0", "100.64.0.1", "100.100.100.200", "168.63.129.16"),
    *("192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1"),
)
PRIVATE_6 = (
    *("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "fec0::1"),
    *("2001::1", "64:ff9b:1::a00:1", "100::1", "5f00::1", "3fff::1"),
)
PORTS = ("", ":80", ":8080", ":443", ":22", ":6379", ":65535")


def spellings(text: str) -> Iterator[str]:
    """The same IPv4 address, as programs and standards have written it."""
    number = int(IPv4Address(text))
    a, b, c, d = (int(part) for part in text.split("."))
    yield text
    yield f"{text}."
    yield str(number)
    yield f"{number}."
    yield f"0x{number:x}"
    yield f"0X{number:08X}"
    yield f"0{number:o}"
    yield f"{a}.{(b << 16) + (c << 8) + d}"
    yield f"{a}.{b}.{(c << 8) + d}"
    yield ".".join(f"0{part:o}" for part in (a, b, c, d))
    yield ".".join(f"0x{part:x}" for part in (a, b, c, d))
    yield f"0x{a:x}.{b}.0{c:o}.{d}"
    yield ".".join(f"{part:03d}" for part in (a, b, c, d))
    yield f"{a + 256}.{b}.{c}.{d}"
    yield text.replace(".", "\u3002")
    yield text.replace(".", "\uff0e")
    yield "".join(chr(0xFF10 + int(each)) if each.isdigit() else each for each in text)
    yield "".join(_circled(each) for each in text)
    yield "".join(f"%{ord(each):02x}" for each in text)
    yield f"[::ffff:{text}]"
    yield f"[::ffff:{a:02x}{b:02x}:{c:02x}{d:02x}]"
    yield f"[0:0:0:0:0:ffff:{text}]"
    yield f"[::{text}]"
    yield f"[64:ff9b::{text}]"
    yield f"[2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1]"
    yield f"[{IPv6Address(f'::ffff:{text}')}%25eth0]"


def _circled(each: str) -> str:
    if not each.isdigit():
        return each
    return "⓪" if each == "0" else chr(ord("①") + int(each) - 1)


NAMES = (
    *("localhost", "LOCALHOST", "localhost.", "a.localhost", "printer.local", "db.internal"),
    *("metadata.google.internal", "metadata.google.internal."),
)
TRICKS = (
    "http://127.0.0.1@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1/",
    "http://user:word@example.com/",
    "http://@example.com/",
    "http://:@example.com/",
    "http://example.com#@127.0.0.1/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com\\.127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http://127.0.0.1\t/",
    "http://exam\nple.com/",
    "http:// 127.0.0.1/",
    "http:///127.0.0.1/",
    "http:127.0.0.1",
    "//127.0.0.1/",
    "http://[::1/",
    "http://::1/",
    "http://[127.0.0.1]/",
    "http://[::1]x/",
    "http://0/",
    "http://0x/",
    "http://1.2.3.4.5/",
    "http://.../",
    "http://example.com:0/",
    "http://example.com:99999/",
    "http://example.com:-1/",
    "http://example.com:8o/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "gopher://127.0.0.1:6379/_INFO",
    "dict://127.0.0.1:11211/",
    "unix:/run/docker.sock",
    "http+unix://%2Frun%2Fdocker.sock/",
    "data:text/plain,x",
    "javascript:alert(1)",
    "ws://127.0.0.1/",
    "https://",
    "",
    "x" * 9_000,
)


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that anything tried to connect to."""
    found: list[str] = []

    async def connect(self: object, _: socket.socket, address: tuple[str, int]) -> None:
        found.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", connect)
    return found


class Resolver:
    """A name server that leads each name where a test says, one answer after the other."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, name: Name) -> list[ResolveResult]:
        self.asked.append(name.host)
        addresses = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            ResolveResult(
                hostname=name.host,
                host=each,
                port=name.port,
                family=socket.AF_INET6 if ":" in each else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for each in addresses
        ]


def corpus() -> Iterator[str]:
    ports = PORTS[: breadth(2, len(PORTS))]
    for address in PRIVATE[: breadth(5, len(PRIVATE))]:
        for host in spellings(address):
            for port in ports:
                yield f"http://{host}{port}/latest/meta-data?x=1"
                yield f"https://{host}{port}/"
    for address in PRIVATE_6:
        for port in ports:
            yield f"http://[{address}]{port}/"
            yield f"https://[{address.upper()}]{port}/"
    for name in NAMES:
        yield f"http://{name}/"
    yield from TRICKS


async def test_no_url_of_the_corpus_leads_to_a_connection(connected: list[str]) -> None:
    resolver = Resolver(["127.0.0.1", "::1"])
    client = EgressClient(Allowances({}), look_up=resolver)
    urls = list(corpus())
    assert len(urls) >= 300
    for url in urls:
        answer = await client.send("acme", Request("GET", url), most=100)
        assert isinstance(answer, NoAnswer), url
        # The name that a URL of many scripts is mapped to may be looked up, and leads here.
        assert answer.kind in ("url", "refused", "connection"), (url, answer)
    assert connected == []
    await client.close()


@pytest.mark.parametrize(
    "addresses",
    [["10.0.0.1"], ["10.0.0.1", "fd00::1"], ["::ffff:169.254.169.254"], ["64:ff9b::7f00:1"]],
)
async def test_a_name_that_leads_to_private_addresses_is_as_good_as_unknown(
    connected: list[str], addresses: list[str]
) -> None:
    client = EgressClient(Allowances({}), look_up=Resolver(addresses))
    answer = await client.send("acme", Request("GET", "https://inner.example/"), most=100)
    assert answer == NoAnswer(
        "connection", "cannot connect: the name of the host has no address that may be used"
    )
    assert connected == []
    await client.close()


async def test_of_several_addresses_only_public_ones_are_tried(connected: list[str]) -> None:
    client = EgressClient(Allowances({}), look_up=Resolver(["10.0.0.1", "93.184.216.34", "::1"]))
    await client.send("acme", Request("GET", "https://both.example/"), most=100)
    assert connected == ["93.184.216.34"]
    await client.close()


async def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to(
    connected: list[str],
) -> None:
    """A server that answers with another address the second time gains nothing."""
    resolver = Resolver(["93.184.216.34"], ["127.0.0.1"])
    client = EgressClient(Allowances({}), look_up=resolver)
    for _ in range(3):
        answer = await client.send("acme", Request("GET", "https://rebound.example/"), most=100)
        assert isinstance(answer, NoAnswer)
    assert connected == ["93.184.216.34"]
    assert resolver.asked == ["rebound.example"] * 3  # again, since connecting failed
    await client.close()


@pytest.mark.parametrize("host", ["web1", "payments-v2", "db.corp2", "10-0-0-1", "a0x1", "x.y1."])
async def test_a_name_that_ends_with_a_digit_is_a_name(host: str) -> None:
    assert url_problem(f"http://{host}/") is None
