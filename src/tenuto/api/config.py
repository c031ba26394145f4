"""How the service behaves, as far as whoever runs it can choose."""

from __future__ import annotations

from ipaddress import ip_address

from msgspec import Struct

from tenuto.access.origins import LOCAL_HOSTS

HOST = "127.0.0.1"
PORT = 8484


class ServiceConfig(Struct, frozen=True, kw_only=True):
    """Where the service listens and whom it answers."""

    host: str = HOST
    port: int = PORT
    public_url: str | None = None
    """Where others reach it, such as https://tenuto.example.com; None: where it listens."""
    hosts: frozenset[str] = frozenset()
    """By which names it may be called; on loopback beside those of this machine, else any where
    none are named: then whoever asks has to show who they are, which no foreign page can."""
    origins: frozenset[str] = frozenset()
    """Pages of which other origins may call it, such as https://example.com."""
    rate: float | None = None
    """Requests a second that one principal may make for long; None: as many as they like."""
    burst: int = 100
    """How many of them may come at once."""
    source_rate: float | None = None
    """Requests a second from one address, counted before anybody looks at who asks."""
    source_burst: int = 1_000
    head_seconds: float = 20.0
    """How long the headers of a request may take, and a connection that says nothing."""
    body_seconds: float = 30.0
    """How long a body may take, beside a second for each 10,000 bytes that have come."""
    unfinished_requests: int = 5_000
    """Requests of one address that may be unfinished at the same time."""
    socket_idle_seconds: float = 120.0
    """How long a socket is kept that watches nothing and says nothing."""
    linger_seconds: float = 0.0
    """How long it goes on answering after it has said that it is not ready any more."""
    drain_seconds: float = 10.0
    """How long requests that are under way have when it stops."""

    @property
    def is_local(self) -> bool:
        """Whether it listens on this machine alone."""
        return is_loopback(self.host)

    @property
    def allowed_hosts(self) -> frozenset[str] | None:
        """By which names it may be called; None: any."""
        if self.is_local:
            own = f"[{self.host.strip('[]')}]" if ":" in self.host else self.host
            return LOCAL_HOSTS | self.hosts | {own}
        return self.hosts or None


def is_loopback(host: str) -> bool:
    """Whether an address is one that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
