"""The values that name where a command acts: a store, or a server that has one."""

from __future__ import annotations

from typing import Final

from tenuto.model.tenants import DEFAULT_TENANT

STORE: Final = "sqlite:///.tenuto/tenuto.db"
"""The store where none is named."""
ACTOR: Final = "cli"
"""In whose name the command line acts on a store."""


class Place(str):
    """Where a command acts, for which tenant, and which command it is."""

    __slots__ = ("command", "tenant")

    tenant: str
    command: str
    """Its last word: `list` of `events list`."""

    @property
    def store_beside(self) -> str | None:
        """The store that can be read instead, where this is a server that was found beside it."""
        return None


class StoreUrl(Place):
    """The URL of a store: access to the store is access to all of its tenants."""

    __slots__ = ()

    @classmethod
    def of_tenant(cls, url: str, tenant: str) -> StoreUrl:
        made = cls(url)
        made.tenant = tenant
        made.command = ""
        return made


class ServerUrl(Place):
    """The addresses of a server in the place of a store's URL, and the API key."""

    __slots__ = ("is_found", "key", "store")

    key: str | None
    is_found: bool
    """Whether commands here find it without being told."""
    store: str | None
    """Its store, where it was found beside that."""

    @classmethod
    def of(
        cls,
        addresses: str,
        key: str | None,
        tenant: str = DEFAULT_TENANT,
        *,
        is_found: bool = False,
        store: str | None = None,
    ) -> ServerUrl:
        url = cls(addresses)
        url.key = key
        url.tenant = tenant
        url.command = ""
        url.is_found = is_found
        url.store = store
        return url

    @property
    def store_beside(self) -> str | None:
        return self.store

    @property
    def addresses(self) -> list[str]:
        """Each of them."""
        return [each.strip() for each in self.split(",") if each.strip()]


def tenant_of(url: str) -> str:
    """The tenant of a store, or of a server, that a command is about."""
    return url.tenant if isinstance(url, Place) else DEFAULT_TENANT


def tenant_flag(url: str) -> str:
    """The option that names the tenant in a command; empty for the default one."""
    import shlex  # every command loads this module, and few need it

    tenant = tenant_of(url)
    return "" if tenant == DEFAULT_TENANT else f" --tenant {shlex.quote(tenant)}"
