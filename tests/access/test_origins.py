"""Names and pages that are let in: compared whole, whatever they are made to look like."""

from __future__ import annotations

import pytest

from tenuto.access.origins import LOCAL_HOSTS, is_allowed_host, is_allowed_origin

HOSTS: list[tuple[str | None, bool]] = [
    ("localhost", True),
    ("localhost:8484", True),
    ("LocalHost:1", True),
    ("127.0.0.1:8484", True),
    ("[::1]:8484", True),
    ("[0:0:0:0:0:0:0:1]", True),
    ("api.example.com:8443", True),
    ("API.Example.Com:8443", True),
    ("api.example.com", False),
    ("api.example.com:443", False),
    (None, False),
    ("", False),
    ("localhost.", False),
    ("localhost:8484.", False),
    ("localhost.evil.example", False),
    ("evil-localhost", False),
    ("evil.localhost", False),
    ("xlocalhost", False),
    ("localhost:0", False),
    ("localhost:99999", False),
    ("localhost:", False),
    ("localhost:80:80", False),
    ("localhost, evil.example", False),
    ("localhost evil.example", False),
    ("localhost\n", False),
    ("ada@localhost", False),
    ("localhost/", False),
    ("localhost#", False),
    ("127.0.0.1.evil.example", False),
    ("127.1", False),
    ("2130706433", False),
    ("0x7f.0.0.1", False),
    ("127.0.0.2", False),
    ("::1", False),
    ("[::1", False),
    ("[::ffff:127.0.0.1]", False),
    ("[::1%25lo]", False),
    ("lоcalhost", False),  # noqa: RUF001 - a letter of another alphabet is the point
    ("*", False),
    ("..", False),
]


@pytest.mark.parametrize(("header", "is_allowed"), HOSTS)
def test_the_service_answers_to_its_names_alone(header: str | None, is_allowed: bool) -> None:
    allowed = {*LOCAL_HOSTS, "api.example.com:8443"}
    assert is_allowed_host(header, allowed) is is_allowed


ORIGINS: list[tuple[str | None, bool]] = [
    (None, True),
    ("http://localhost:8484", True),
    ("HTTP://LOCALHOST:8484", True),
    ("https://app.example.com", True),
    ("https://app.example.com:443", True),
    ("https://APP.example.com", True),
    ("http://[::1]:9000", True),
    ("http://[0::1]:9000", True),
    ("null", False),
    ("", False),
    ("file://", False),
    ("http://localhost", False),
    ("http://localhost:8485", False),
    ("https://localhost:8484", False),
    ("ws://localhost:8484", False),
    ("http://localhost:8484/", False),
    ("http://localhost:8484?", False),
    ("http://localhost:8484#", False),
    ("http://localhost:8484, http://evil.example", False),
    ("http://localhost:8484 http://evil.example", False),
    ("http://localhost:8484\n", False),
    ("http://localhost:8484@evil.example", False),
    ("http://ada@localhost:8484", False),
    ("http://localhost:8484.evil.example", False),
    ("http://localhost.evil.example:8484", False),
    ("http://evil.example/http://localhost:8484", False),
    ("http://evil.example\\localhost:8484", False),
    ("http://127.0.0.1:8484", False),
    ("http://app.example.com", False),
    ("https://app.example.com:8443", False),
    ("https://app.example.com.", False),
    ("https://app.example.com.evil.example", False),
    ("https://evilapp.example.com", False),
    ("https://evil.app.example.com", False),
    ("https://example.com", False),
    ("https://app.example.com:0", False),
    ("https://app.example.com:", False),
    ("https://app.example.co", False),
    ("https://аpp.example.com", False),  # noqa: RUF001 - a letter of another alphabet
    ("https://app%2eexample.com", False),
    ("https:app.example.com", False),
    ("https:///app.example.com", False),
    ("//app.example.com", False),
    ("app.example.com", False),
    ("http://[::1]", False),
    ("http://[::ffff:7f00:1]:8484", False),
]


@pytest.mark.parametrize(("header", "is_allowed"), ORIGINS)
def test_pages_of_other_origins_are_kept_out(header: str | None, is_allowed: bool) -> None:
    allowed = {"https://app.example.com", "http://[::1]:9000"}
    found = is_allowed_origin(header, scheme="http", host="localhost:8484", allowed=allowed)
    assert found is is_allowed
    socket = is_allowed_origin(header, scheme="ws", host="localhost:8484", allowed=allowed)
    assert socket is is_allowed


def test_a_request_without_a_host_has_no_pages_of_its_own() -> None:
    assert not is_allowed_origin("http://localhost", scheme="http", host=None)
    assert not is_allowed_origin("http://localhost", scheme="gopher", host="localhost")
    assert is_allowed_origin("http://localhost", scheme="http", host="localhost:80")
    assert is_allowed_origin("https://localhost", scheme="wss", host="localhost")
