"""The files and the page of the web UI, as a browser gets them, without one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tenuto.api.config import BrowserSignIn, ServiceConfig
from tests.api.conftest import Caller, Reply, Serve

_INDEX = '<html><head><base href="/" /><script src="./assets/app-1a2b.js"></script></head></html>'
_SCRIPT = b"console.log('tenuto');" * 20
_PAGE = {"accept": "text/html,*/*;q=0.8"}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder as a build leaves it."""
    folder = tmp_path / "ui" / "assets"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(_INDEX)
    (folder / "theme.js").write_text("theme")
    (folder / "assets" / "app-1a2b.js").write_bytes(_SCRIPT)
    (folder / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(_SCRIPT))
    (folder / "assets" / "app-1a2b.js.br").write_bytes(b"by brotli")
    (folder / "assets" / "app-1a2b.js.map").write_text("{}")
    (folder.parent / "secret.txt").write_text("secret")
    return folder


def _config(folder: Path, public_url: str | None = None, **more: object) -> ServiceConfig:
    return ServiceConfig(port=0, ui_folder=str(folder), public_url=public_url, **more)  # type: ignore[arg-type]


async def _get(call: Caller, path: str, method: str = "GET", **headers: str) -> Reply:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    async with call.session.request(
        method, call.url + path, headers=given, allow_redirects=False, auto_decompress=False
    ) as reply:
        text = (await reply.read()).decode("latin-1")
        return Reply(reply.status, reply.headers, text)


@pytest.mark.asyncio
async def test_every_path_that_is_not_the_api_s_is_the_page(serve: Serve, built: Path) -> None:
    async with serve(config=_config(built), admin_key="k" * 32) as call:
        for path in ("/", "/instances/a.b%2Fc?tab=log", "/definitions/order", "/anything"):
            page = await _get(call, path, **_PAGE)
            assert page.status == 200, path
            assert '<base href="/">' in page.text
            assert page.headers["cache-control"] == "no-cache"
            assert page.headers["x-content-type-options"] == "nosniff"
            assert page.headers["referrer-policy"] == "no-referrer"
            policy = page.headers["content-security-policy"]
            assert "script-src 'self';" in policy
            assert "worker-src 'self';" in policy
            assert "connect-src 'self';" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            known = await _get(call, path, **_PAGE, if_none_match=page.headers["etag"])
            assert (known.status, known.text) == (304, "")
        head = await _get(call, "/", "HEAD", **_PAGE)
        assert (head.status, head.text) == (200, "")


@pytest.mark.asyncio
async def test_paths_of_the_api_and_unknown_files_stay_refusals(serve: Serve, built: Path) -> None:
    async with serve(config=_config(built)) as call:
        for path in ("/api", "/api/v1/nothing", "/assets/app-0000.js", "/health/x", "/ws/x"):
            refused = await _get(call, path, **_PAGE)
            assert (refused.status, refused.json["code"]) == (404, "TEN-2033"), path
        for accept in ("application/json", "*/*"):
            assert (await _get(call, "/instances/x", accept=accept)).status == 404
        assert (await _get(call, "/instances", "POST", **_PAGE)).status == 404
        assert (await _get(call, "/docs", **_PAGE)).text.startswith("<!doctype html>")


@pytest.mark.asyncio
async def test_the_root_shows_programs_what_there_is(serve: Serve, built: Path) -> None:
    async with serve(config=_config(built)) as call:
        for accept in ("*/*", "application/json"):
            found = await _get(call, "/", accept=accept)
            assert (found.status, found.headers["content-type"]) == (200, "application/json")
            ways = {name: path for name, path in found.json.items() if name != "service"}
            assert set(ways) == {"webUi", "api", "docs", "openapi", "health"}
            for name in ("docs", "openapi", "health"):
                assert (await _get(call, ways[name])).status == 200


@pytest.mark.asyncio
async def test_no_path_reaches_a_file_outside(serve: Serve, built: Path) -> None:
    async with serve(config=_config(built)) as call:
        for path in (
            "/../secret.txt",
            "/assets/../../secret.txt",
            "/assets/%2e%2e/%2e%2e/secret.txt",
            "/assets/..%2f..%2fsecret.txt",
            f"/{built.parent}/secret.txt",
            "/assets/app-1a2b.js.map",
        ):
            found = await _get(call, path)
            assert found.status == 404, path
            assert found.text != "secret"


@pytest.mark.asyncio
async def test_hashed_files_are_kept_for_ever_and_sent_compressed(
    serve: Serve, built: Path
) -> None:
    async with serve(config=_config(built)) as call:
        script = "/assets/app-1a2b.js"
        plain = await _get(call, script, accept_encoding="identity")
        assert plain.text.encode() == _SCRIPT
        assert plain.headers["content-type"] == "text/javascript; charset=utf-8"
        assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert plain.headers["vary"] == "accept-encoding"
        for accepted, encoding in (
            ("gzip, deflate, br", "br"),
            ("gzip", "gzip"),
            ("br;q=0, gzip;q=0.5", "gzip"),
            ("deflate", None),
        ):
            sent = await _get(call, script, accept_encoding=accepted)
            assert sent.headers.get("content-encoding") == encoding, accepted
            assert (sent.headers["etag"] == plain.headers["etag"]) == (encoding is None)
        assert (await _get(call, "/theme.js")).headers["cache-control"] == "no-cache"


@pytest.mark.asyncio
async def test_below_a_path_the_page_and_the_api_are_found(serve: Serve, built: Path) -> None:
    public = "https://example.com/tools/flows/"
    async with serve(config=_config(built, public)) as call:
        for before in ("", "/tools/flows"):
            # A proxy removes the path of the public URL, or leaves it in front.
            page = await _get(call, f"{before}/instances/x", **_PAGE)
            assert '<base href="/tools/flows/">' in page.text
            assert (await _get(call, f"{before}/assets/app-1a2b.js")).status == 200
            assert (await _get(call, f"{before}/api/v1/instances")).status == 200
            assert (await _get(call, f"{before}/health")).status == 200
        own = await _get(call, "/api/v1/instances", origin="https://example.com")
        assert own.status == 200
        assert (await _get(call, "/tools/flowsx/health")).status == 404
    async with serve(config=_config(built, "https://example.com/api")) as call:
        for path in ("/api/v1/instances", "/api/api/v1/instances", "/api/health"):
            for method in ("GET", "HEAD"):
                assert (await _get(call, path, method)).status == 200, path


@pytest.mark.asyncio
async def test_without_a_build_the_page_names_the_command(serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "assets"
    async with serve(config=_config(folder)) as call:
        page = await _get(call, "/", **_PAGE)
        assert page.status == 200
        assert "<code>make ui</code>" in page.text
        assert 'href="docs"' in page.text
        (tmp_path / "assets.building").touch()
        assert "being built" in (await _get(call, "/", **_PAGE)).text
        folder.mkdir()
        (folder / "index.html").write_text(_INDEX)
        assert "app-1a2b" in (await _get(call, "/", **_PAGE)).text


@pytest.mark.asyncio
async def test_only_widgets_may_be_framed(serve: Serve, built: Path) -> None:
    (built / "widget.html").write_text(_INDEX.replace("app", "widget"))
    async with serve(config=_config(built)) as call:
        framed = await _get(call, "/widgets/x", **_PAGE)
        assert "widget-1a2b" in framed.text
        assert framed.headers["content-security-policy"].endswith("frame-ancestors *")
        page = await _get(call, "/instances/x", **_PAGE)
        assert page.headers["content-security-policy"].endswith("frame-ancestors 'none'")


@pytest.mark.asyncio
async def test_only_with_an_identity_provider_the_page_may_ask_another_host(
    serve: Serve, built: Path
) -> None:
    provider = BrowserSignIn(
        issuer="https://id.example.com:8443/realms/a",
        client_id="tenuto-ui",
        audience="tenuto",
        scopes=("openid",),
    )
    async with serve(config=_config(built, browser_sign_in=provider)) as call:
        page = await _get(call, "/", **_PAGE)
        policy = page.headers["content-security-policy"]
        assert "connect-src 'self' https://id.example.com:8443;" in policy
        me = (await call.get("/me")).json
        assert me["signIn"]["ways"] == ["key", "oidc"]
        assert me["signIn"]["oidc"] == {
            "issuer": "https://id.example.com:8443/realms/a",
            "clientId": "tenuto-ui",
            "audience": "tenuto",
            "scopes": ["openid"],
        }
