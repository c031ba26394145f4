"""Where a command acts: on a store, or on a server that has one."""

from __future__ import annotations

from typing import Final

from tenuto.model.tenants import DEFAULT_TENANT

STORE: Final = "sqlite:///.tenuto/tenuto.db"
"""The store where none is named."""


class StoreUrl(str):
    """A store's, and which tenant's part of it is meant: who has the store may have any."""

    __slots__ = ("tenant",)

    tenant: str

    @classmethod
    def of_tenant(cls, url: str, tenant: str) -> StoreUrl:
        made = cls(url)
        made.tenant = tenant
        return made


class ServerUrl(str):
    """The addresses of a server in the place of a store's, and the key to ask with."""

    __slots__ = ("key", "tenant")

    key: str | None
    tenant: str

    @classmethod
    def of(cls, addresses: str, key: str | None, tenant: str = DEFAULT_TENANT) -> ServerUrl:
        url = cls(addresses)
        url.key = key
        url.tenant = tenant
        return url

    @property
    def addresses(self) -> list[str]:
        """Each of them."""
        return [each.strip() for each in self.split(",") if each.strip()]


def tenant_of(url: str) -> str:
    """Whose part of a store, or of a server, a command is about."""
    return url.tenant if isinstance(url, StoreUrl | ServerUrl) else DEFAULT_TENANT
