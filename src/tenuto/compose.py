"""Wiring: the only module that maps URLs to stores and builds engines from their parts."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.failure import SECRET_NOT_ALLOWED, SECRET_UNREADABLE, UNKNOWN_SECRET
from tenuto.ports import SystemClock, SystemIds

if TYPE_CHECKING:
    from tenuto.access.authenticator import Authenticator, Tokens
    from tenuto.access.oidc import OidcSettings
    from tenuto.built_in.data_query import DataQueryExecutor
    from tenuto.built_in.protocol import Executor, Executors
    from tenuto.encryption.codec import Codec
    from tenuto.encryption.settings import EncryptionSettings
    from tenuto.engine.engine import Engine
    from tenuto.engine.membership.note_files import NoteFiles
    from tenuto.engine.secrets.vault import Vault
    from tenuto.engine.settings import Settings
    from tenuto.ports import Caller, Clock, Ids, Seals, Sender
    from tenuto.sandbox.bounds import PoolBounds
    from tenuto.sandbox.sandbox import Sandbox
    from tenuto.store.protocol import Store
    from tenuto.targets.gate import Gate
    from tenuto.tasks.registry import Registry

MEMORY = "memory://"
SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")

_SECRET = re.compile(r"(?<=://).*(?=@)|(?<=password=)[^&]*", re.IGNORECASE | re.DOTALL)


def open_store(
    url: str | None,
    *,
    listen_url: str | None = None,
    settings: Settings | None = None,
    encryption: Codec | EncryptionSettings | None = None,
) -> Store:
    """The store that `url` names; without one, everything is kept in memory.

    `listen_url` is the PostgreSQL server itself where `url` names a pooler in front of it;
    `settings` have the sizes and times of a store.
    """
    store = _store(url, listen_url=listen_url, settings=settings)
    return encrypted(store, encryption)


def encrypted(store: Store, encryption: Codec | EncryptionSettings | None) -> Store:
    """The same store; what is encrypted in it is read and written with these keys."""
    from tenuto.encryption.settings import EncryptionSettings  # noqa: PLC0415
    from tenuto.encryption.setup import made_codec  # noqa: PLC0415
    from tenuto.encryption.store import encrypt  # noqa: PLC0415

    if encryption is None or isinstance(encryption, EncryptionSettings):
        encryption = made_codec(encryption)
    return encrypt(store, encryption)


def _store(url: str | None, *, listen_url: str | None, settings: Settings | None) -> Store:
    from tenuto.engine.settings import Settings  # noqa: PLC0415 - only where it is used

    chosen = settings or Settings()
    if url is not None and is_postgres(url):
        from tenuto.store.postgres import PostgresStore  # noqa: PLC0415 - asyncpg only where used

        return PostgresStore(
            url,
            lanes=chosen.lanes,
            listen_url=listen_url,
            connections=chosen.store_connections,
            beat_every=timedelta(seconds=chosen.heartbeat_every),
            dead_after=timedelta(seconds=chosen.dead_after),
        )
    if listen_url is not None:
        raise StoreUnavailable(
            "there is nothing to listen to but a PostgreSQL server",
            code="TEN-4008",
            advice="Leave listen_url out, or name a store postgresql://…",
        )
    if url is None or url == MEMORY:
        from tenuto.store.memory import MemoryStore  # noqa: PLC0415 - only where it is used

        return MemoryStore()
    from tenuto.store.sqlite import SqliteStore  # noqa: PLC0415 - apsw only where it is used

    return SqliteStore(sqlite_path(url), lanes=chosen.lanes)


def open_reader(url: str, encryption: Codec | EncryptionSettings | None = None) -> Store:
    """A store that may be read, and left mail in, while another process has it open."""
    return encrypted(_reader(url), encryption)


def _reader(url: str) -> Store:
    if is_postgres(url):
        from tenuto.store.postgres import PostgresStore  # noqa: PLC0415 - asyncpg only where used

        return PostgresStore.reader(url)
    from tenuto.store.sqlite import SqliteStore  # noqa: PLC0415 - apsw only where it is used

    path = sqlite_path(url)
    if not path.exists():
        raise TenutoError(
            f"there is no store at {path.absolute()}",
            code="TEN-4021",
            advice="Make a project with `tenuto init`, start a workflow with `tenuto run FILE`, or "
            "name the right store with --store.",
        )
    return SqliteStore.reader(path)


async def migrate_store(url: str, *, is_beside_older: bool = False) -> list[str]:
    """Create the store at `url` or migrate its schema; returns the names of the migrations.

    `is_beside_older`: also beside processes whose program the new schema does not support.
    """
    if is_postgres(url):
        from tenuto.store.postgres import PostgresStore  # noqa: PLC0415 - asyncpg only where used

        return await PostgresStore(url).migrate(is_beside_older=is_beside_older)
    from tenuto.store.sqlite import SqliteStore  # noqa: PLC0415 - apsw only where it is used

    return await SqliteStore(sqlite_path(url)).migrate()


def is_postgres(url: str) -> bool:
    """Whether `url` names a database on a server, which several processes share."""
    return url.startswith(POSTGRES)


def sqlite_path(url: str) -> Path:
    """`sqlite:///orders.db` is relative to the working folder, `sqlite:////srv/orders.db` not."""
    if not url.startswith(SQLITE) or url == SQLITE:
        raise StoreUnavailable(
            f"{without_password(url)!r} is not a store",
            code="TEN-4008",
            advice="Write sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE; in Python, "
            "leave it out to keep everything in memory.",
        )
    path = url.removeprefix(SQLITE)
    if path == ":memory:":
        # SQLite would make a database for each connection, and none of them would be found again.
        raise StoreUnavailable(
            f"{url!r} is not a store",
            code="TEN-4008",
            advice="In Python, leave the URL out to keep everything in memory: Tenuto(). Commands "
            "need a file: sqlite:///FILE.",
        )
    return Path(path)


def has_engine(url: str) -> bool:
    """Whether an engine has the file of a store open, in this process or another."""
    from tenuto.store.sqlite.lock import is_locked  # noqa: PLC0415 - apsw only where it is used

    return is_locked(str(sqlite_path(url)))


def exposed_files(url: str) -> list[Path]:
    """The files of a store that other users of this machine may read or write."""
    if url == MEMORY or is_postgres(url):
        return []
    from tenuto.store.sqlite.permissions import exposed_files as exposed  # noqa: PLC0415

    return exposed(sqlite_path(url))


def without_password(url: str) -> str:
    """A URL as it may be shown: also one that cannot be read may have a password in it."""
    if url.startswith(SQLITE):
        return url
    if not is_postgres(url):
        return _SECRET.sub("…", url)
    from tenuto.store.postgres.address import read_address  # noqa: PLC0415

    return read_address(url).shown


def as_typed(url: str) -> str:
    """A URL of the same store without its passwords, for users who know them."""
    if not is_postgres(url):
        return without_password(url)
    from tenuto.store.postgres import address  # noqa: PLC0415

    return address.as_typed(url)


def build_engine(
    store: Store,
    registry: Registry,
    *,
    settings: Settings | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    sender: Sender | None = None,
    executors: Executors | None = None,
) -> Engine:
    """An engine; clock, ids, sender and executors are the real ones by default."""
    # A command that only reads a store loads no engine.
    from tenuto.egress import EgressClient  # noqa: PLC0415
    from tenuto.engine.engine import Engine  # noqa: PLC0415
    from tenuto.engine.secrets.vault import Vault  # noqa: PLC0415
    from tenuto.engine.settings import Settings  # noqa: PLC0415
    from tenuto.model.graph import DataQuery  # noqa: PLC0415
    from tenuto.targets.gate import Gate  # noqa: PLC0415

    settings = settings or Settings()
    clock, ids = clock or SystemClock(), ids or SystemIds()
    gate, vault = Gate(store, clock, ids), Vault(store, clock, LateSeals(store))
    if executors is None:
        queries = build_query_executor(store, clock, gate, vault, settings)
        executors = {**build_executors(settings, gate, clock), DataQuery: queries}
    return Engine(
        store,
        registry=registry,
        clock=clock,
        ids=ids,
        settings=settings,
        sender=sender or EgressClient(settings.allowances(is_all=settings.private_webhooks)),
        notes=_notes(store, settings),
        executors=executors,
        gate=gate,
        vault=vault,
    )


class SourceSecrets:
    """The passwords of data sources."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def value(self, tenant: str, name: str, *, destination: str) -> str:
        """The value of a secret for a data source or a host; QueryFailed says why there is none."""
        from tenuto.data.failures import no_secret  # noqa: PLC0415 - where one is used
        from tenuto.engine.secrets.vault import (  # noqa: PLC0415
            NotAllowed,
            NotGiven,
            UnknownSecret,
        )

        try:
            return await self._vault.value(tenant, name, destination=destination)
        except UnknownSecret as error:
            raise no_secret(UNKNOWN_SECRET, str(error)) from None
        except NotAllowed as error:
            raise no_secret(SECRET_NOT_ALLOWED, str(error)) from None
        except NotGiven as error:
            raise no_secret(SECRET_UNREADABLE, str(error)) from None


class LateSeals:
    """Encrypts secrets with the keys of a store, else with one beside it.

    What encrypts is loaded when there is a secret.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seals: Seals | None = None

    def seal(self, plain: bytes, about: bytes) -> bytes:
        """A sealed value, which is opened for the same `about` only; TenutoError: no keys."""
        return self._made.seal(plain, about)

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """What was sealed for `about`; TenutoError: the key is missing, or it is damaged."""
        return self._made.open(sealed, about)

    @property
    def _made(self) -> Seals:
        if self._seals is None:
            from tenuto.encryption.codec import NoKeys  # noqa: PLC0415
            from tenuto.encryption.secret_seals import seals_of  # noqa: PLC0415 - where it is used
            from tenuto.encryption.store import codec_of  # noqa: PLC0415

            self._seals = seals_of(self._store, codec_of(self._store) or NoKeys())
        return self._seals


def build_executors(
    settings: Settings | None = None, gate: Gate | None = None, clock: Clock | None = None
) -> Executors:
    """What does the work of javascript, http and dataQuery nodes; `gate` admits requests."""
    from tenuto.built_in.http import HttpExecutor  # noqa: PLC0415 - with an engine
    from tenuto.built_in.javascript import JavaScriptExecutor  # noqa: PLC0415
    from tenuto.egress import EgressClient  # noqa: PLC0415
    from tenuto.engine.settings import Settings  # noqa: PLC0415
    from tenuto.model.graph import Http, JavaScript  # noqa: PLC0415

    settings = settings or Settings()
    client = EgressClient(settings.allowances())
    limit = settings.limits.output_bytes
    made: dict[type, Executor] = {
        JavaScript: JavaScriptExecutor(build_sandbox, output_limit=limit, client=client)
    }
    if gate is not None:
        made[Http] = HttpExecutor(
            client,
            gate,
            clock or SystemClock(),
            host_limits=settings.host_limits,
            output_limit=limit,
        )
    return made


def build_query_executor(
    store: Store, clock: Clock, gate: Gate, vault: Vault, settings: Settings | None = None
) -> DataQueryExecutor:
    """What does the work of dataQuery nodes, and tries queries.

    `gate` admits them, and `vault` has the passwords of data sources.
    """
    from tenuto.built_in.data_query import DataQueryExecutor  # noqa: PLC0415 - with an engine
    from tenuto.data.databases import Databases  # noqa: PLC0415
    from tenuto.data.network import Network  # noqa: PLC0415
    from tenuto.data.queries import QueryRunner  # noqa: PLC0415
    from tenuto.egress import Allowances  # noqa: PLC0415
    from tenuto.engine.settings import Settings  # noqa: PLC0415

    settings = settings or Settings()
    databases = Databases(
        clock,
        SourceSecrets(vault),
        Network(Allowances(settings.private_databases)),
        folder=settings.data_folder,
    )
    most = settings.limits.output_bytes
    return DataQueryExecutor(QueryRunner(store, clock, databases, most_bytes=most, gate=gate))


def build_sandbox(bounds: PoolBounds | None = None) -> Sandbox:
    """The processes that run and check the code of javascript nodes."""
    from tenuto.sandbox.sandbox import Sandbox  # noqa: PLC0415 - where code is run

    return Sandbox(bounds=bounds)


def _notes(store: Store, settings: Settings | None) -> NoteFiles | None:
    from tenuto.engine.membership.note_files import NoteFiles  # noqa: PLC0415 - with an engine

    path = store.files_at
    if path is None or settings is None:
        return None if path is None else NoteFiles(path, is_private=store.is_shared)
    if store.is_shared and settings.notes_folder is not None:
        path = Path(settings.notes_folder) / path.name
    return NoteFiles(path, seconds=settings.decision_timeout, is_private=store.is_shared)


def load_caller() -> None:
    """Import what calls other services, before an event loop has anything to do meanwhile."""
    import tenuto.egress.http  # noqa: F401, PLC0415 - aiohttp only where used


def build_caller(settings: Settings) -> Caller:
    """The HTTP client for pushed tasks."""
    from tenuto.egress import EgressClient  # noqa: PLC0415 - only where it is used

    return EgressClient(settings.allowances(is_all=settings.private_targets))


def build_authenticator(
    store: Store,
    clock: Clock,
    *,
    admin_key: str | None = None,
    oidc: OidcSettings | None = None,
    is_required: bool = False,
    may_be_private: bool = False,
) -> Authenticator:
    """An authenticator of API keys; with `oidc` also of tokens of an identity provider.

    With `may_be_private` that provider may be in a private network, such as this machine.
    """
    from tenuto.access.authenticator import Authenticator  # noqa: PLC0415 - only where it is used

    tokens: Tokens | None = None
    if oidc is not None:
        # What reads tokens and fetches keys is loaded where there are any.
        from tenuto.access.provider import Provider  # noqa: PLC0415
        from tenuto.access.tokens import OidcTokens  # noqa: PLC0415
        from tenuto.egress.http import HttpSender  # noqa: PLC0415

        fetcher = HttpSender(may_be_private=may_be_private)
        tokens = OidcTokens(oidc, Provider(oidc.issuer, fetcher, clock))
    return Authenticator(
        store.access, clock, admin_key=admin_key, tokens=tokens, is_required=is_required
    )
