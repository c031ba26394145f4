"""All that whoever runs a service can choose."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from tenuto.engine.settings import Settings
from tenuto.logs.setup import Format, Level

Rate: TypeAlias = Annotated[float, Meta(ge=0.001)]
SERVED: Final = Settings(unknown_tasks="wait", mail_every=0.5)
"""How an engine behaves behind a service, unless somebody says otherwise."""


class WorkerConfig(Struct, frozen=True, kw_only=True):
    """The settings of `tenuto worker`, beside `tasks`, `log_format` and `log_level`."""

    server: str = "http://127.0.0.1:8484"
    """The service; TENUTO_SERVER says so too, and goes first."""
    key: str | None = None
    """An API key of the service; TENUTO_KEY says so too, and goes first."""
    concurrency: Annotated[int, Meta(ge=1, le=10_000)] = 50
    """So many tasks run at once."""
    batch: Annotated[int, Meta(ge=1, le=1_000)] = 50
    """So many are claimed at once."""
    lease: Annotated[float, Meta(ge=1, le=3_600)] = 30.0
    """Seconds without a word from a worker after which its tasks go to others."""
    grace: Annotated[float, Meta(ge=0)] = 10.0
    """Seconds that running tasks have when it stops."""


class Config(Struct, frozen=True, kw_only=True):
    """The settings of `serve`, `dev` and `worker`, by the names that they have everywhere.

    `engine.limits.input_bytes` is so called in `tenuto config show` and `--set`; it stands in the
    table `[engine.limits]` of a file, and is TENUTO_ENGINE_LIMITS_INPUT_BYTES in the environment.
    """

    store: str = "sqlite:///.tenuto/tenuto.db"
    listen_url: str | None = None
    """The PostgreSQL server itself, where the store is reached through a pooler."""
    host: str = "127.0.0.1"
    port: int = 8484
    public_url: str | None = None
    """Where others reach it, such as https://tenuto.example.com; None: where it listens."""
    allow_host: tuple[str, ...] = ()
    """By which names the service may be called; none: on loopback those of this machine."""
    allow_origin: tuple[str, ...] = ()
    """Pages of which other origins may call it."""
    rate_limit: Rate | None = None
    """Requests a second that one principal may make for long."""
    burst: int = 100
    source_rate_limit: Rate | None = None
    """Requests a second from one address, whoever asks."""
    linger_seconds: float = 0.0
    drain_seconds: float = 10.0
    auth: Literal["auto", "required"] = "auto"
    admin_key: str | None = None
    """A credential for everything, in every tenant; from the environment or a file alone."""
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_private: bool = False
    """Whether the issuer may have an address of no public network."""
    oidc_tenant_claim: str = "tenant"
    oidc_role_claims: tuple[str, ...] = ("role", "roles")
    oidc_name_claim: str = "sub"
    tasks: tuple[str, ...] = ()
    """Modules and files in which tasks are."""
    log_format: Format = "text"
    log_level: Level = "info"
    traces: bool = False
    """Whether spans are sent with OpenTelemetry, to where OTEL_EXPORTER_OTLP_ENDPOINT says."""
    worker: WorkerConfig = WorkerConfig()
    engine: Settings = SERVED


SECRET: Final = frozenset({"admin_key", "worker.key"})
"""What is never shown."""
URLS: Final = frozenset({"store", "listen_url"})
"""What is shown without its password."""
