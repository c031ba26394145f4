"""Requests of tenants: what is sent, where redirects lead, and what is read of an answer."""

from __future__ import annotations

import asyncio
import gc
import gzip
import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.abc import ResolveResult

from tenuto import Settings, Tenuto
from tenuto.egress import Allowances, Answer, EgressClient, NoAnswer, Request
from tenuto.egress.http import HttpSender
from tenuto.egress.lookups import Name
from tenuto.egress.request import headers_problem
from tenuto.model.errors import InvalidInput
from tests.kit.hooks import receiver
from tests.kit.web_site import Site, web_site

pytestmark = pytest.mark.asyncio

SECRET = "Bearer the-word"


def here(name: Name) -> list[ResolveResult]:
    """Every name leads to this machine."""
    return [
        ResolveResult(
            hostname=name.host,
            host="127.0.0.1",
            port=name.port,
            family=socket.AF_INET,
            proto=0,
            flags=0,
        )
    ]


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    async with web_site() as made:
        yield made


@pytest_asyncio.fixture
async def client() -> AsyncIterator[EgressClient]:
    made = EgressClient(Allowances({"acme": ["127.0.0.0/8"]}), look_up=here)
    yield made
    await made.close()


async def sent(client: EgressClient, request: Request, most: int | None = 1_000) -> Answer:
    answer = await client.send("acme", request, most=most)
    assert isinstance(answer, Answer), answer
    return answer


async def refused(client: EgressClient, request: Request, most: int = 1_000) -> NoAnswer:
    answer = await client.send("acme", request, most=most)
    assert isinstance(answer, NoAnswer), answer
    return answer


async def test_a_request_arrives_as_it_was_made(site: Site, client: EgressClient) -> None:
    site.says("/a", '{"ok":1}', 201, x_more="yes")
    headers = (("x-one", "1"), ("x-one", "2"), ("authorization", SECRET))
    request = Request("PATCH", f"{site.url}/a?b=c%20d&b=ä", headers, b"body")
    answer = await sent(client, request)
    assert (answer.status, answer.body, answer.header("x-more")) == (201, b'{"ok":1}', "yes")
    [asked] = site.asked
    assert (asked.method, asked.path, asked.body) == ("PATCH", "/a?b=c%20d&b=%C3%A4", b"body")
    assert asked.headers["authorization"] == SECRET
    assert asked.headers["accept-encoding"] == "identity"
    assert "cookie" not in asked.headers
    assert "content-type" not in asked.headers


async def test_another_tenant_may_not_use_what_one_may(site: Site, client: EgressClient) -> None:
    """Not even over a connection that is open."""
    await sent(client, Request("GET", f"{site.url}/"))
    other = await client.send("other", Request("GET", f"{site.url}/"), most=100)
    assert isinstance(other, NoAnswer)
    assert other.kind == "refused"
    assert len(site.asked) == 1


async def test_webhooks_and_pushes_reach_what_their_tenant_may(
    site: Site, client: EgressClient
) -> None:
    for tenant, status in (("acme", 200), ("other", None)):
        reply = await client.post(f"{site.url}/", {}, b"{}", 60, tenant=tenant)
        assert reply.status == status
        page = await client.call(f"{site.url}/", {}, b"{}", tenant=tenant, seconds=60, most=100)
        assert page.status == status
    assert len(site.asked) == 2


async def test_a_webhook_may_have_an_address_that_its_tenant_may_call() -> None:
    allowed = {"acme": ("10.1.0.0/16", "erp.internal")}
    async with Tenuto(settings=Settings(private_networks=allowed)) as app:
        for tenant, url, is_kept in (
            ("acme", "http://10.1.2.3/hook", True),
            ("acme", "http://erp.internal/hook", True),
            ("acme", "http://10.2.0.1/hook", False),
            ("acme", "http://127.0.0.1/hook", False),
            ("other", "http://10.1.2.3/hook", False),
        ):
            adding = app.workspace(tenant, "ada").webhooks.add(url, "order.*")
            if is_kept:
                await adding
            else:
                with pytest.raises(InvalidInput, match="TEN-2302"):
                    await adding


async def test_an_allowed_host_may_be_private_and_its_address_may_not_be_named(site: Site) -> None:
    client = EgressClient(Allowances({"*": ["erp.internal", "*.corp.example"]}), look_up=here)
    for host in ("erp.internal", "ERP.internal.", "a.corp.example", "a.b.corp.example"):
        answer = await client.send("acme", Request("GET", f"http://{host}:{site.port}/"), most=100)
        assert isinstance(answer, Answer), (host, answer)
    asked = len(site.asked)
    for host in ("corp.example", "xerp.internal", "127.0.0.1", "other.example", "localhost"):
        answer = await client.send("acme", Request("GET", f"http://{host}:{site.port}/"), most=100)
        assert isinstance(answer, NoAnswer), (host, answer)
    assert len(site.asked) == asked
    await client.close()


@pytest.mark.parametrize("entry", ["10.0.0.1/8", "1.2.3", "a b", "", "http://x", "*", "-x", "a/b"])
async def test_an_entry_that_is_neither_host_nor_network_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="neither a host nor a network"):
        Allowances({"acme": [entry]})


# -- redirects


def leads(site: Site, path: str, to: str, status: int = 302) -> None:
    site.says(path, b"", status, location=to)


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        *((301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (303, "HEAD", "HEAD")),
        *((301, "DELETE", "DELETE"), (307, "POST", "POST"), (308, "PUT", "PUT")),
    ],
)
async def test_a_redirect_keeps_or_changes_the_method_as_the_standard_says(
    site: Site, client: EgressClient, status: int, method: str, then: str
) -> None:
    leads(site, "/from", "/to#part", status)
    headers = (("authorization", SECRET), ("content-type", "text/x"))
    body = b"body" if method in ("POST", "PUT") else None
    answer = await sent(client, Request(method, f"{site.url}/from", headers, body))
    assert answer.url == f"{site.url}/to"
    first, second = site.asked
    assert (first.method, second.method) == (method, then)
    assert second.headers["authorization"] == SECRET, "the origin is the same"
    assert second.body == (b"body" if then == method and body else b"")


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1"])
async def test_no_credential_follows_to_another_origin(
    site: Site, client: EgressClient, host: str
) -> None:
    async with web_site() as other:
        leads(site, "/from", f"http://{host}:{other.port}/to")
        headers = (
            *(("authorization", SECRET), ("x-api-key", "word"), ("cookie", "a=b")),
            *(("accept", "text/html"), ("idempotency-key", "i:a")),
        )
        await sent(client, Request("GET", f"{site.url}/from", headers))
        [asked] = other.asked
        assert asked.headers["accept"] == "text/html"
        assert not asked.headers.keys() & {
            *("authorization", "x-api-key", "cookie", "idempotency-key")
        }


async def test_no_body_follows_to_another_origin(site: Site, client: EgressClient) -> None:
    async with web_site() as other:
        leads(site, "/from", f"{other.url}/to", 307)
        answer = await refused(client, Request("POST", f"{site.url}/from", (), b"body"))
        assert answer.kind == "redirect"
        assert other.asked == []


@pytest.mark.parametrize(
    "to",
    [
        *("http://10.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "http://0x7f.1/"),
        *("file:///etc/passwd", "http://user:word@127.0.0.1/", "//10.0.0.1/", "http://[::1/"),
        "gopher://127.0.0.1/",
    ],
)
async def test_a_redirect_to_where_requests_may_not_go_is_not_followed(
    site: Site, client: EgressClient, to: str
) -> None:
    leads(site, "/from", to)
    answer = await refused(client, Request("GET", f"{site.url}/from"))
    assert answer.kind == "redirect"
    assert site.paths == ["/from"]


async def test_five_redirects_are_followed_and_no_more(site: Site, client: EgressClient) -> None:
    for number in range(10):
        leads(site, f"/{number}", f"/{number + 1}")
    assert (await refused(client, Request("GET", f"{site.url}/0"))).message == (
        "more than 5 redirects"
    )
    assert len(site.asked) == 6
    assert (await sent(client, Request("GET", f"{site.url}/5"))).status == 200


async def test_each_hop_is_one_of_the_hosts_that_code_may_call(
    site: Site, client: EgressClient
) -> None:
    leads(site, "/from", f"http://other.example:{site.port}/to")
    answer = await client.send(
        "acme",
        Request("GET", f"{site.url}/from"),
        most=100,
        may_call=lambda host, _: host == "127.0.0.1",
    )
    assert isinstance(answer, NoAnswer)
    assert (answer.kind, site.paths) == ("redirect", ["/from"])


async def test_a_redirect_that_is_a_success_is_not_followed(
    site: Site, client: EgressClient
) -> None:
    leads(site, "/from", "/to")
    answer = await client.send(
        "acme", Request("GET", f"{site.url}/from"), most=9, follows=lambda status: status != 302
    )
    assert isinstance(answer, Answer)
    assert (answer.status, answer.header("location")) == (302, "/to")


# -- what is never sent


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("Host", "x"), ("content-length", "5"), ("Transfer-Encoding", "chunked")),
        *(("connection", "close"), ("upgrade", "h2c"), ("te", "trailers"), ("Expect", "100")),
        *(("proxy-authorization", "x"), ("accept-encoding", "gzip"), ("trailer", "x")),
        *(("x", "a\r\nhost: b"), ("x", "a\nb"), ("x", "a\rb"), ("x", "a\0b"), ("x", "a\x7fb")),
        *(("", "x"), ("a b", "x"), ("a:", "x"), ("a\r\nb", "x"), ("ä", "x"), ("x", " y")),
        ("x", "y" * 40_000),
    ],
)
async def test_headers_that_change_the_meaning_of_a_request_are_refused(
    site: Site, client: EgressClient, name: str, value: str
) -> None:
    answer = await refused(client, Request("GET", f"{site.url}/", ((name, value),)))
    assert answer.kind == "headers"
    assert value not in answer.message or value in ("x", "5", "100", " y", "gzip")
    assert site.asked == []


async def test_there_is_a_bound_on_headers() -> None:
    assert headers_problem([(f"x-{number}", "1") for number in range(101)]) is not None


async def test_proxies_and_passwords_of_the_environment_are_not_used(
    site: Site, client: EgressClient, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    async with receiver() as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.upper(), proxy.url)
        netrc = f"{tmp_path}/netrc"
        with open(netrc, "w", encoding="utf-8") as file:  # noqa: ASYNC230, PTH123
            file.write("machine 127.0.0.1 login ada password word\n")
        monkeypatch.setenv("NETRC", netrc)
        await sent(client, Request("GET", f"{site.url}/"))
        assert proxy.received == []
    assert "authorization" not in site.asked[0].headers


async def test_cookies_are_not_kept(site: Site, client: EgressClient) -> None:
    site.says("/in", set_cookie="session=1; Path=/")
    await sent(client, Request("GET", f"{site.url}/in"))
    await sent(client, Request("GET", f"{site.url}/again"))
    assert "cookie" not in site.asked[1].headers


# -- what is read


async def test_an_answer_is_read_up_to_its_bound(site: Site, client: EgressClient) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while not site.never.is_set():
            await response.write(b"x" * 10_000)
        return response

    site.says("/fits", b"x" * 1_000, media="text/plain")
    site.says("/large", b"x" * 1_001, media="text/plain")
    site.answers["/endless"] = endless
    assert len((await sent(client, Request("GET", f"{site.url}/fits"))).body) == 1_000
    for path in ("/large", "/endless"):
        answer = await refused(client, Request("GET", f"{site.url}{path}"))
        assert answer == NoAnswer("size", "the answer has more than 1,000 bytes")
    assert (await sent(client, Request("GET", f"{site.url}/endless"), most=None)).body == b""
    cut = await client.send("acme", Request("GET", f"{site.url}/endless"), most=9, cut=lambda _: 50)
    assert isinstance(cut, Answer)
    assert cut.body == b"x" * 50


async def test_a_compressed_answer_is_not_unpacked(site: Site, client: EgressClient) -> None:
    site.says("/bomb", gzip.compress(b"x" * 1_000_000), content_encoding="gzip")
    answer = await refused(client, Request("GET", f"{site.url}/bomb"), 10_000)
    assert answer.kind == "encoding"


async def test_a_host_that_does_not_answer_is_waited_for_so_long(
    site: Site, client: EgressClient
) -> None:
    site.answers["/silent"] = site.silent
    answer = await client.send("acme", Request("GET", f"{site.url}/silent"), most=9, seconds=0.05)
    assert answer == NoAnswer("time", "no answer within 0.05 s")


@pytest.mark.parametrize(
    "spoken",
    [
        *(b"", b"hello\r\n\r\n", b"HTTP/1.1 200\r\ncontent-length: 10\r\n\r\nabc"),
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000 + b"\r\n\r\n",
    ],
)
async def test_an_answer_that_is_no_http_is_a_broken_connection(
    client: EgressClient, spoken: bytes
) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(spoken)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    answer = await refused(client, Request("GET", f"http://127.0.0.1:{port}/"), 1_000_000)
    assert answer.kind == "connection"
    server.close()


async def test_a_host_without_tls_or_without_a_server_cannot_be_connected_to(
    site: Site, client: EgressClient
) -> None:
    answer = await refused(client, Request("GET", f"https://127.0.0.1:{site.port}/"))
    assert (answer.kind, "TLS failed" in answer.message) == ("connection", True)
    async with web_site() as gone:
        url = gone.url
    answer = await refused(client, Request("GET", url))
    assert answer == NoAnswer("connection", "cannot connect: Connection refused")


async def test_a_request_that_fails_leaves_no_garbage_to_collect() -> None:
    """Everything waits for a collection, and a webhook that fails has thousands of requests."""
    sender = HttpSender(may_be_private=True)
    try:
        await sender.post("http://127.0.0.1:9/", {}, b"", 5.0)
        gc.collect()
        gc.disable()
        for _ in range(10):
            assert (await sender.post("http://127.0.0.1:9/", {}, b"", 5.0)).status is None
        assert gc.collect() < 100
    finally:
        gc.enable()
        await sender.close()
