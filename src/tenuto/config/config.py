"""The settings of services and workers."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from tenuto.encryption.settings import EncryptionSettings
from tenuto.engine.settings import Settings
from tenuto.logs.setup import Format, Level

Rate: TypeAlias = Annotated[float, Meta(ge=0.001)]
SERVED: Final = Settings(unknown_tasks="wait", mail_every=0.5, decision_timeout=10.0)
"""The defaults of an engine behind a service."""


class WorkerConfig(Struct, frozen=True, kw_only=True):
    """The settings of `tenuto worker`, beside `tasks`, `log_format` and `log_level`."""

    server: str = "http://127.0.0.1:8484"
    """The URL of the service; TENUTO_SERVER takes precedence."""
    key: str | None = None
    """An API key of the service; TENUTO_KEY takes precedence."""
    token_file: str | None = None
    """A file with a token of an identity provider, instead of a key; read again in time."""
    token_command: str | None = None
    """A command that prints such a token; run without a shell, again before the token expires."""
    concurrency: Annotated[int, Meta(ge=1, le=10_000)] = 50
    """The most tasks that run at once."""
    batch: Annotated[int, Meta(ge=1, le=1_000)] = 50
    """The most tasks that are claimed at once."""
    lease: Annotated[float, Meta(ge=1, le=3_600)] = 30.0
    """Seconds without a heartbeat after which its tasks go to other workers."""
    grace: Annotated[float, Meta(ge=0)] = 10.0
    """Seconds that running tasks have to end when the worker stops."""


class DevConfig(Struct, frozen=True, kw_only=True):
    """The settings of `tenuto dev` alone."""

    files: tuple[str, ...] = ()
    """Definitions to deploy, if none is named on the command line."""
    start: tuple[str, ...] = ()
    """Instances to start where none is under way, as `WORKFLOW=JSON`."""


class Config(Struct, frozen=True, kw_only=True):
    """The settings of `serve`, `dev` and `worker`.

    `engine.limits.input_bytes` is the name in `tenuto config show` and `--set`; in a file it is in
    the table `[engine.limits]`, in the environment it is TENUTO_ENGINE_LIMITS_INPUT_BYTES.
    """

    store: str = "sqlite:///.tenuto/tenuto.db"
    listen_url: str | None = None
    """The PostgreSQL server itself, if the store is reached through a connection pooler."""
    host: str = "127.0.0.1"
    port: int = 8484
    public_url: str | None = None
    """Its public URL, such as https://tenuto.example.com; None: the address that it listens on."""
    environment: str | None = None
    """The name of the installation, such as `production`, which the web UI shows."""
    allow_host: tuple[str, ...] = ()
    """The allowed host names of the service; none: on loopback those of this machine."""
    allow_origin: tuple[str, ...] = ()
    """The other origins whose pages may call it."""
    rate_limit: Rate | None = None
    """The sustained request rate of one principal, per second."""
    burst: int = 100
    source_rate_limit: Rate | None = None
    """The request rate of one client address, per second, for all principals."""
    linger_seconds: float = 0.0
    drain_seconds: float = 10.0
    auth: Literal["auto", "required"] = "auto"
    admin_key: str | None = None
    """A credential for all tenants; only from the environment or a file."""
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_client_id: str | None = None
    """The public client of the web UI at the issuer; None: its users sign in with an API key."""
    oidc_scopes: tuple[str, ...] = ("openid",)
    """The scopes that the web UI asks for."""
    oidc_private: bool = False
    """Whether the issuer may have a private address."""
    oidc_tenant_claim: str = "tenant"
    oidc_role_claims: tuple[str, ...] = ("role", "roles")
    oidc_name_claim: str = "sub"
    tasks: tuple[str, ...] = ()
    """Modules and files with tasks."""
    log_format: Format = "text"
    log_level: Level = "info"
    log_to: str = "stderr"
    """Where log lines go: `stderr`, or the path of a file to which they are appended."""
    log_attempts: bool = True
    """Whether a line of level `info` is logged for each attempt that has ended; failures always
    have one, of level `warning`."""
    traces: bool = False
    """Whether OpenTelemetry spans are sent to OTEL_EXPORTER_OTLP_ENDPOINT."""
    encryption: EncryptionSettings = EncryptionSettings()
    dev: DevConfig = DevConfig()
    worker: WorkerConfig = WorkerConfig()
    engine: Settings = SERVED


SECRET: Final = frozenset({"admin_key", "encryption.keys", "worker.key"})
"""Settings that are never shown."""
URLS: Final = frozenset({"store", "listen_url"})
"""Settings that are shown without their password."""
