"""http nodes end to end: what is sent, what comes back, what is a failure and what is tried again.

The site is on a port of this machine, which the tenant of these tests may call.
"""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import ssl
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.metrics.metrics import Metrics
from tenuto.model.errors import WorkflowFailed
from tenuto.model.failure import LastError
from tenuto.model.host_limits import HostLimits
from tenuto.model.json import JSON, Object
from tests.kit.turns import turns
from tests.kit.web_site import Site, web_site

pytestmark = pytest.mark.asyncio

HERE = {"default": ("127.0.0.0/8",)}
FORM = "application/x-www-form-urlencoded"
AT_ONCE: Object = {"maxAttempts": 3, "initialDelay": 1, "maxDelay": 50}


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    async with web_site() as made:
        yield made


@pytest_asyncio.fixture
async def app() -> AsyncIterator[Tenuto]:
    async with Tenuto(settings=Settings(private_networks=HERE)) as made:
        yield made


def step(url: str, **fields: JSON) -> Object:
    """A workflow of one http node that is tried once, unless its fields say otherwise."""
    once: Object = {"retry": {"maxAttempts": 1}}
    return {"id": "w", "steps": [{"stepId": "a", "type": "HTTP", "url": url, **once, **fields}]}


async def output(app: Tenuto, document: Object, input: JSON = None) -> Any:  # noqa: ANN401
    await app.deploy(document)
    return await (await app.start("w", input)).result(60)


async def error(app: Tenuto, document: Object, input: JSON = None) -> LastError:
    with pytest.raises(WorkflowFailed) as failed:
        await output(app, document, input)
    return failed.value.error


# -- the request


async def test_a_node_sends_what_its_templates_give(site: Site, app: Tenuto) -> None:
    site.says("/orders/7", '{"id": 7, "big": 12345678901234567890123}', x_more="yes")
    document = step(
        f"{site.url}/orders/{{{{ctx.input.id}}}}?fixed=1",
        method="PUT",
        query={"page": 2, "tag": ["a b", "ü&"], "left": None, "on": True},
        headers={"X-Tenant": "{{ctx.input.name}}", "x-count": 3},
        body={"name": "{{ctx.input.name}}"},
    )
    found = await output(app, document, {"id": 7, "name": "Ada"})
    assert found["status"] == 200
    assert found["body"] == {"id": 7, "big": 12345678901234567890123}
    assert found["headers"]["x-more"] == "yes"
    [asked] = site.asked
    assert asked.method == "PUT"
    assert asked.path == "/orders/7?fixed=1&page=2&tag=a%20b&tag=%C3%BC%26&on=true"
    assert asked.body == b'{"name":"Ada"}'
    assert asked.headers["content-type"] == "application/json"
    assert (asked.headers["x-tenant"], asked.headers["x-count"]) == ("Ada", "3")


async def test_get_is_the_method_where_none_is_given(site: Site, app: Tenuto) -> None:
    await output(app, step(site.url))
    [asked] = site.asked
    assert (asked.method, asked.body) == ("GET", b"")
    assert "idempotency-key" not in asked.headers


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("form", {"a": "x y", "b": [1, 2]}, (b"a=x%20y&b=1&b=2", FORM)),
        ("text", "hällo", ("hällo".encode(), "text/plain; charset=utf-8")),
        ("json", "text", (b'"text"', "application/json")),
        ("json", [1, None], (b"[1,null]", "application/json")),
    ],
)
async def test_a_body_is_sent_as_its_type_says(
    site: Site, app: Tenuto, kind: str, body: JSON, expected: tuple[bytes, str]
) -> None:
    await output(app, step(site.url, method="POST", body=body, bodyType=kind))
    [asked] = site.asked
    assert (asked.body, asked.headers["content-type"]) == expected


async def test_the_content_type_of_a_user_stays(site: Site, app: Tenuto) -> None:
    headers: Object = {"Content-Type": "application/vnd.api+json"}
    await output(app, step(site.url, method="POST", body={}, headers=headers))
    assert site.asked[0].headers["content-type"] == "application/vnd.api+json"


@pytest.mark.parametrize(
    ("auth", "name", "value"),
    [
        ({"type": "bearer", "value": "word"}, "authorization", "Bearer word"),
        (
            {"type": "basic", "value": "ada:a:b"},
            "authorization",
            f"Basic {base64.b64encode(b'ada:a:b').decode()}",
        ),
        ({"type": "header", "value": "X-Api-Key: word"}, "x-api-key", "word"),
    ],
)
async def test_a_request_is_authenticated(
    site: Site, app: Tenuto, auth: Object, name: str, value: str
) -> None:
    await output(app, step(site.url, auth=auth))
    assert site.asked[0].headers[name] == value


async def test_every_attempt_has_the_same_idempotency_key(site: Site, app: Tenuto) -> None:
    """Each attempt of a node that writes sends the same `Idempotency-Key`, unless the node sets
    one.
    """
    site.says("/", "{}", 503)
    await app.deploy(step(site.url, method="POST", body={}, retry=AT_ONCE))
    instance = await app.start("w")
    with pytest.raises(WorkflowFailed):
        await instance.result(60)
    keys = [each.headers["idempotency-key"] for each in site.asked]
    assert keys == [f"{instance.id}:a"] * 3


async def test_the_idempotency_key_of_a_user_stays(site: Site, app: Tenuto) -> None:
    headers: Object = {"Idempotency-Key": "mine"}
    await output(app, step(site.url, method="POST", headers=headers))
    assert site.asked[0].headers["idempotency-key"] == "mine"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"url": "{{ctx.input.url}}"}, "does not begin with https:// or http://"),
        ({"url": "http://{{ctx.input.host}}/"}, "white space"),
        ({"url": "http://a.example/{{ctx.input.host}}"}, "white space"),
        ({"url": "http://{{ctx.input.user}}/"}, "a user or a password"),
        ({"url": "http://a.example/", "method": "{{ctx.input.url}}"}, "the method is `nowhere`"),
        ({"headers": {"x": "{{ctx.input.lines}}"}}, "the header x has a line break"),
        ({"headers": {"x": "{{ctx.input}}"}}, "`x` of `headers` is an object"),
        ({"headers": {"Host": "{{ctx.input.url}}"}}, "the header Host is set by the client"),
        ({"query": {"a": {"b": 1}}}, "`a` of `query` is an object"),
        ({"body": "{{ctx.input.url}}", "bodyType": "form"}, "`body` is text"),
        ({"body": "{{ctx.input}}", "bodyType": "text"}, "the body is an object"),
        ({"auth": {"type": "basic", "value": "{{ctx.input.url}}"}}, "not `user:password`"),
        ({"auth": {"type": "header", "value": "{{ctx.input.url}}"}}, "not `name: value`"),
        ({"auth": {"type": "bearer", "value": "{{ctx.input.none}}"}}, "is empty"),
        ({"auth": {"type": "bearer", "value": "a{{ctx.input.lines}}"}}, "line break"),
        (
            {"headers": {"Authorization": "x"}, "auth": {"type": "bearer", "value": "y"}},
            "sets the header authorization",
        ),
    ],
)
async def test_a_request_that_is_none_fails_at_once_and_is_not_tried_again(
    site: Site, app: Tenuto, fields: Object, words: str
) -> None:
    given: Object = {
        "url": "nowhere",
        "host": "a b",
        "lines": "x\r\ny: z",
        "user": "u:p@a.b",
        "none": "",
    }
    both: Object = {"url": site.url, "method": "POST", "retry": AT_ONCE, **fields}
    document: Object = {"id": "w", "steps": [{"stepId": "a", "type": "HTTP", **both}]}
    failed = await error(app, document, given)
    assert (failed.code, failed.attempt) == ("INVALID_REQUEST", 1)
    assert words in failed.message
    assert site.asked == []


# -- where it may go


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:1/", "http://169.254.169.254/latest/", "http://[::1]/"),
        *("http://localhost/", "http://10.0.0.1/", "https://metadata.google.internal/"),
    ],
)
async def test_a_private_address_is_refused_unless_the_tenant_may_call_it(url: str) -> None:
    async with Tenuto(settings=Settings(private_networks={"other": ("0.0.0.0/0", "::/0")})) as app:
        failed = await error(app, step(url, retry=AT_ONCE))
        assert (failed.code, failed.attempt) == ("ADDRESS_REFUSED", 1)


async def test_a_redirect_is_followed_without_credentials(site: Site, app: Tenuto) -> None:
    """Requests reach the public network, and what is allowed for the tenant; an address is resolved
    once, checked and connected to, also after each of at most five redirects, which take no
    credentials to another host.
    """
    async with web_site() as other:
        site.says("/from", b"", 302, location=f"{other.url}/to")
        auth: Object = {"type": "bearer", "value": "word"}
        found = await output(app, step(f"{site.url}/from", auth=auth))
        assert found["status"] == 200
        assert "authorization" not in other.asked[0].headers
        site.says("/inner", b"", 302, location="http://10.0.0.1/")
        failed = await error(app, step(f"{site.url}/inner"))
        assert failed.code == "ADDRESS_REFUSED"


# -- the answer


async def test_success_is_what_the_node_says(site: Site, app: Tenuto) -> None:
    """The output of an `http` node is `{status, headers, body}`."""
    site.says("/", '{"error": "not there"}', 404)
    failed = await error(app, step(site.url, retry=AT_ONCE))
    assert (failed.code, failed.attempt) == ("HTTP_404", 1)
    assert failed.details == {
        "status": 404,
        "body": '{"error": "not there"}',
        "contentType": "application/json",
    }
    found = await output(app, step(site.url, successCodes=[200, 404]))
    assert (found["status"], found["body"]) == (404, {"error": "not there"})
    site.says("/", "{}", 200)
    assert (await error(app, step(site.url, successCodes=[201]))).code == "HTTP_200"


@pytest.mark.parametrize("begin", [3_960, 3_990, 3_996])
async def test_no_part_of_a_secret_is_kept_of_a_body_that_is_cut(
    site: Site, app: Tenuto, begin: int
) -> None:
    value = "canary-51Hxyz-51Habc-0123-4567-89ab-cdef-0123"
    await app.secrets.put("KEY", value)
    site.says("/", "x" * begin + value + "x" * 1_000, 400)
    failed = await error(app, step(site.url, headers={"x-key": "{{secrets.KEY}}"}))
    assert isinstance(failed.details, dict)
    assert str(failed.details["body"]).endswith("x[secret KEY]…")


async def test_a_status_is_routed_by_its_code(site: Site, app: Tenuto) -> None:
    site.says("/", "{}", 404)
    document = step(site.url, transitions={"onError": [{"codes": ["HTTP_404"], "to": "b"}]})
    document["steps"].append({"stepId": "b", "type": "SET", "values": {"made": True}})  # type: ignore[union-attr]
    await app.deploy(document)
    instance = await app.start("w")
    await instance.result(60)
    assert (await instance.state())["variables"]["made"] is True  # type: ignore[index,call-overload]


async def test_a_response_of_each_type(site: Site, app: Tenuto) -> None:
    site.says("/", b"\xef\xbb\xbf[1, 2]")
    assert (await output(app, step(site.url)))["body"] == [1, 2]
    site.says("/", b"")
    assert (await output(app, step(site.url)))["body"] is None
    site.says("/", "grün".encode("latin-1"), media="text/plain; charset=ISO-8859-1")
    assert (await output(app, step(site.url, responseType="text")))["body"] == "grün"
    site.says("/", b"x\xff", media="text/plain; charset=rot13")
    assert (await output(app, step(site.url, responseType="text")))["body"] == "x\ufffd"
    site.says("/", b"x" * 5_000_000)
    assert (await output(app, step(site.url, responseType="none")))["body"] is None
    found = await output(app, step(site.url, method="HEAD"))
    assert (found["status"], found["body"]) == (200, None)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>", "is not JSON"),
        (b"{", "is not JSON"),
        (b'{"a": 1, "a": 2}', "has the key 'a' twice"),
        (b'{"a": NaN}', "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
async def test_a_response_that_is_not_what_it_claims_is_a_failure(
    site: Site, app: Tenuto, body: bytes, words: str
) -> None:
    site.says("/", body)
    failed = await error(app, step(site.url, retry=AT_ONCE))
    assert (failed.code, failed.attempt) == ("INVALID_RESPONSE", 1)
    assert words in failed.message


async def test_a_response_is_read_up_to_its_limit(site: Site, app: Tenuto) -> None:
    site.says("/", f'"{"x" * 1_000}"')
    failed = await error(app, step(site.url, maxBytes=1_000, retry=AT_ONCE))
    assert (failed.code, failed.attempt) == ("TOO_LARGE", 1)
    assert len((await output(app, step(site.url, maxBytes=2_000)))["body"]) == 1_000
    site.says("/", f'"{"x" * 3_000_000}"')
    assert (await error(app, step(site.url))).code == "TOO_LARGE"


async def test_what_a_host_says_of_a_failure_is_kept_in_part(site: Site, app: Tenuto) -> None:
    site.says("/", b"\0" + b"y" * 50_000, 400, "text/plain")
    failed = await error(app, step(site.url))
    assert isinstance(failed.details, dict)
    assert failed.details["body"] == "\ufffd" + "y" * 3_999 + "…"


# -- trying again


@pytest.mark.parametrize(
    ("status", "retry_on", "attempts"),
    [
        *((500, None, 3), (503, None, 3), (429, None, 3), (408, None, 3), (400, None, 1)),
        *((503, [404], 1), (404, [404], 3), (500, [], 1)),
    ],
)
async def test_which_statuses_are_tried_again(
    site: Site, app: Tenuto, status: int, retry_on: JSON, attempts: int
) -> None:
    """A status outside `successCodes` (200–299) fails with the code `HTTP_<status>`; it is tried
    again where `retryOn` (408, 425, 429, 500–599) has it, not before `Retry-After` says, and no
    later than `maxDelay`.
    """  # noqa: RUF002 - the words of the contract
    site.says("/", "{}", status)
    more: Object = {} if retry_on is None else {"retryOn": retry_on}
    failed = await error(app, step(site.url, retry=AT_ONCE, **more))
    assert (failed.code, failed.attempt) == (f"HTTP_{status}", attempts)
    assert len(site.asked) == attempts


@pytest.mark.parametrize("form", ["seconds", "moment"])
async def test_a_host_that_asks_for_patience_gets_it(site: Site, app: Tenuto, form: str) -> None:
    later = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
    asked = "3600" if form == "seconds" else later.strftime("%a, %d %b %Y %H:%M:%S GMT")
    site.says("/", "{}", 503, retry_after=asked)
    retry: Object = {"maxAttempts": 2, "initialDelay": 1, "maxDelay": "PT1H"}
    await app.deploy(step(site.url, retry=retry))
    instance = await app.start("w")
    cause = await cause_of(instance, "retry")
    due = dt.datetime.fromisoformat(cause["until"])
    minutes = (due - dt.datetime.now(dt.UTC)).total_seconds() / 60
    assert 58 < minutes <= 60


async def cause_of(instance: Any, kind: str) -> Any:  # noqa: ANN401 - JSON
    """The only cause that holds an instance, once it is of that kind."""
    async with asyncio.timeout(60):
        while (cause := (await instance.explain())["causes"][0])["kind"] != kind:
            await turns(1)
    return cause


async def test_a_host_that_cannot_be_reached_is_tried_again(app: Tenuto) -> None:
    async with web_site() as gone:
        url = gone.url
    failed = await error(app, step(url, retry=AT_ONCE))
    assert (failed.code, failed.attempt) == ("CONNECTION_FAILED", 3)
    assert failed.message == "cannot connect: Connection refused"


async def test_a_host_that_does_not_answer_in_time_is_tried_again(site: Site, app: Tenuto) -> None:
    site.answers["/"] = site.silent
    failed = await error(app, step(site.url, timeout=50, retry=AT_ONCE))
    assert (failed.code, failed.attempt) == ("TIMEOUT", 3)


async def test_a_certificate_that_is_not_valid_is_not_tried_again(
    app: Tenuto, tmp_path: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_self_signed(tmp_path))
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    failed = await error(app, step(f"https://127.0.0.1:{port}/", retry=AT_ONCE))
    assert (failed.code, failed.attempt) == ("CONNECTION_FAILED", 1)
    assert failed.message == "cannot connect: self-signed certificate"
    server.close()


def _self_signed(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    file = folder / "self-signed.pem"
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, plain)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


# -- limits and breakers of hosts


async def answer_once_full(site: Site, most: int, _: web.Request) -> web.StreamResponse:
    """Answer once so many requests were there at the same time, and others had their chance."""
    await site.until(lambda: site.most_at_once >= most)
    await turns(20)
    return web.json_response({})


async def test_a_host_gets_no_more_requests_at_once_than_it_may(site: Site) -> None:
    site.answers["/"] = partial(answer_once_full, site, 3)
    settings = Settings(private_networks=HERE, host_limits={"127.0.0.1": HostLimits(concurrency=3)})
    async with Tenuto(settings=settings) as app:
        await app.deploy(step(site.url))
        started = [await app.start("w") for _ in range(12)]
        await asyncio.gather(*(each.result(60) for each in started))
    assert (len(site.asked), site.most_at_once) == (12, 3)


async def test_a_waiting_request_has_not_begun_and_says_what_it_waits_for(site: Site) -> None:
    """`explain` has the causes `breaker`, `rate-limit` and `slot` of a step whose request to a host
    or a data source may not be sent yet; its attempt has not begun.
    """

    site.answers["/"] = site.silent
    limits = {"127.0.0.1": HostLimits(concurrency=1)}
    async with Tenuto(settings=Settings(private_networks=HERE, host_limits=limits)) as app:
        await app.deploy(step(site.url, timeout=60_000))
        await app.start("w")
        await site.until(lambda: len(site.asked) == 1)
        waiting = await app.start("w")
        cause = await cause_of(waiting, "slot")
        assert cause["details"]["target"] == f"127.0.0.1:{site.port}"
        await waiting.cancel("enough")
        with pytest.raises(Exception, match="enough"):
            await waiting.result(60)
        assert len(site.asked) == 1
        site.never.set()


async def test_an_open_breaker_holds_requests_back_until_its_probe(site: Site) -> None:
    site.says("/", "{}", 500)
    limits = {"*": HostLimits(breaker_failures=2, breaker_open_for=0.3)}
    async with Tenuto(settings=Settings(private_networks=HERE, host_limits=limits)) as app:
        for _ in range(2):
            await error(app, step(site.url))
        waiting = [await app.start("w") for _ in range(5)]
        await cause_of(waiting[4], "breaker")
        assert len(site.asked) == 2
        site.says("/", "{}", 200)
        await asyncio.gather(*(each.result(60) for each in waiting))
        assert len(site.asked) == 7


async def test_a_host_that_does_not_answer_in_time_counts_as_failing(site: Site) -> None:
    site.answers["/"] = site.silent
    limits = {"*": HostLimits(breaker_failures=3, breaker_open_for=3_600)}
    async with Tenuto(settings=Settings(private_networks=HERE, host_limits=limits)) as app:
        await error(app, step(site.url, timeout=20, retry=AT_ONCE))
        waiting = await app.start("w")
        await cause_of(waiting, "breaker")
        assert len(site.asked) == 3


async def test_hosts_and_their_requests_are_in_the_metrics(site: Site, app: Tenuto) -> None:
    metrics = Metrics(app.engine)
    site.answers["/"] = site.silent
    await app.deploy(step(site.url))
    started = await app.start("w")
    await site.until(lambda: len(site.asked) == 1)
    page = (await metrics.page("default")).decode()
    assert 'tenuto_request_targets{breaker="closed",kind="http"} 1.0' in page
    assert 'tenuto_requests_under_way{kind="http"} 1.0' in page
    await started.cancel("enough")
