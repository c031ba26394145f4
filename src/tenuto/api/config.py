"""The configuration of the service."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import force_setattr

from tenuto.access.origins import LOCAL_HOSTS, USUAL_PORTS
from tenuto.api.ui.built_files import ASSETS
from tenuto.model.json import JSON

HOST = "127.0.0.1"
PORT = 8484


class LiveBounds(Struct, frozen=True, kw_only=True):
    """Bounds of sockets and event streams."""

    watched_instances: int = 100
    """Instances that one socket may watch."""
    idle_seconds: float = 120.0
    """How long a socket is kept that watches nothing and sends nothing."""
    send_seconds: float = 10.0
    """How long one send may take; a slower client is disconnected, and resumes by its cursor."""
    keep_alive_seconds: float = 15.0
    """Silence after which a stream sends a comment, so that proxies keep it open."""
    widget_seconds: float = 0.25
    """Between values of a widget that changes all the time."""
    credential_seconds: float = 1.0
    """Between checks of the credential of an open socket or stream."""


class BrowserSignIn(Struct, frozen=True, kw_only=True):
    """How the web UI signs users in at the identity provider: authorization code with PKCE."""

    issuer: str
    client_id: str
    """The public client that is registered there for the UI; it has no secret."""
    audience: str
    """What its tokens for this service have in `aud`."""
    scopes: tuple[str, ...]


class ShownSetting(Struct, frozen=True, kw_only=True):
    """A setting of the process, as it may be shown: without secrets and passwords."""

    name: str
    value: JSON
    origin: str
    """A flag, a variable, a line of a file, or `default`."""


class ServiceConfig(Struct, frozen=True, kw_only=True):
    """Where the service listens, and the bounds of its requests."""

    host: str = HOST
    port: int = PORT
    public_url: str | None = None
    """Its public URL, such as https://tenuto.example.com; None: the address it listens on."""
    hosts: frozenset[str] = frozenset()
    """Host names by which it may be called; on loopback in addition to those of this machine. Else
    any where none are named: then a credential is needed, which no foreign page has."""
    origins: frozenset[str] = frozenset()
    """Other origins whose pages may call it, such as https://example.com."""
    rate: float | None = None
    """Requests a second that one principal may make for long; None: no limit."""
    burst: int = 100
    """How many of them may come at once."""
    source_rate: float | None = None
    """Requests a second from one address, counted before authentication."""
    source_burst: int = 1_000
    guess_rate: float | None = 0.2
    """Wrong credentials a second from one address for long; None: no limit."""
    guess_burst: int = 20
    """How many of them may come at once."""
    head_seconds: float = 20.0
    """How long the headers of a request may take, and an idle connection is kept."""
    body_seconds: float = 30.0
    """How long a body may take, beside a second for each 10,000 bytes that have come."""
    unfinished_requests: int = 5_000
    """Unfinished requests of one address at the same time."""
    untaken_bytes: int = 64_000_000
    """Bytes of large answers that the clients of one tenant, or of one address without a
    credential, have not taken yet; a large answer beyond it is refused."""
    all_untaken_bytes: int = 512_000_000
    """The same over all tenants and addresses: beyond it those are refused that have their share of
    it, beyond twice as much everybody. One answer alone is let through at any size."""
    taking_seconds: float = 120.0
    """How long a client may take nothing of its answer; then the connection is closed.

    A client with a buffer of megabytes shows what it takes a megabyte at a time: one that takes
    less than about 10 KB a second looks as if it took nothing."""
    live: LiveBounds = LiveBounds()
    environment: str | None = None
    """The name of the installation, such as `production`, which the web UI shows."""
    settings: tuple[ShownSetting, ...] = ()
    """The settings of the process, for admins of the service."""
    ui_folder: str = ASSETS
    """The built files of the web UI."""
    browser_sign_in: BrowserSignIn | None = None
    """None: users of the web UI sign in with an API key, where a credential is needed."""
    linger_seconds: float = 0.0
    """How long it goes on answering after it has become not ready."""
    drain_seconds: float = 10.0
    """How long requests that are under way may take when it stops."""

    def __post_init__(self) -> None:
        if self.public_url is not None:
            force_setattr(self, "public_url", spelled_url(self.public_url))

    @property
    def is_local(self) -> bool:
        """Whether it listens on this machine alone."""
        return is_loopback(self.host)

    @property
    def allowed_origins(self) -> frozenset[str]:
        """Origins whose pages may call it, beside the one that a request came by.

        Behind a proxy its own pages have the origin of the public URL.
        """
        public = urlsplit(self.public_url or "")
        own = {f"{public.scheme}://{public.netloc}"} if public.netloc else set()
        return self.origins | own

    @property
    def allowed_hosts(self) -> frozenset[str] | None:
        """Host names by which it may be called; None: any."""
        if self.is_local:
            own = f"[{self.host.strip('[]')}]" if ":" in self.host else self.host
            return LOCAL_HOSTS | self.hosts | {own}
        return self.hosts or None


def spelled_url(url: str) -> str:
    """A URL as browsers spell it: scheme and host in small letters, no usual port."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url
    user, at, _ = parts.netloc.rpartition("@")
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    named = "" if port is None or port == USUAL_PORTS.get(parts.scheme) else f":{port}"
    return parts._replace(netloc=f"{user}{at}{host}{named}").geturl()


def is_loopback(host: str) -> bool:
    """Whether an address is one that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
