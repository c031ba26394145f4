"""Which place a command acts on: typed, found in this folder, set for the shell, or a profile."""

from __future__ import annotations

import os
from typing import Final

from tenuto.cli.backends.place import Place, ServerUrl, StoreUrl
from tenuto.model.tenants import DEFAULT_TENANT

TYPED: Final = "COMMANDLINE"
SET: Final = "ENVIRONMENT"


def chosen_place(
    store: tuple[str, str], server: tuple[str | None, str], key: str | None, tenant: str
) -> Place:
    """The place, from the values of `--store` and `--server` and the sources of both."""
    (url, url_source), (address, address_source) = store, server
    if address is not None and address_source == TYPED:
        return ServerUrl.of(address, key, tenant)
    if url_source == TYPED:
        return StoreUrl.of_tenant(url, tenant)
    if (here := _served_here(url, address, key, tenant)) is not None:
        return here
    if address is not None:
        return ServerUrl.of(address, key, tenant)
    if url_source != SET and (profiled := _of_profile(key, tenant)) is not None:
        return profiled
    return StoreUrl.of_tenant(url, tenant)


def found_server(store: str, key: str | None) -> ServerUrl | None:
    """The service that has this store, else that of the profile in use."""
    return _served_here(store, None, key, DEFAULT_TENANT) or _of_profile(key, DEFAULT_TENANT)


def _served_here(url: str, address: str | None, key: str | None, tenant: str) -> ServerUrl | None:
    """The service that has this store; a tenant that is named is found in the store itself."""
    if tenant != DEFAULT_TENANT or not os.path.exists(f"{url.partition(':///')[2]}.server"):  # noqa: PTH110 - a look, at every command
        return None
    from tenuto.cli.served_address import find_served

    found = find_served(url)
    if found is None or (found.needs_key and key is None):
        return None
    if address is not None and address.rstrip("/") != found.url:
        from tenuto.cli.views.terminal import say

        say(
            f"asking {found.url}, the service of this folder, and not TENUTO_SERVER; "
            f"--server {address} asks that",
            style="dim",
        )
    return ServerUrl.of(found.url, key, tenant, is_found=True, store=url)


def _of_profile(key: str | None, tenant: str) -> ServerUrl | None:
    from tenuto.cli.profiles import VARIABLE, profiles_file

    # A home that this user may not look into, as in a container, is not the user's own.
    if not os.environ.get(VARIABLE) and not os.path.exists(profiles_file()):  # noqa: PTH110
        return None
    from tenuto.cli.profiles import used_profile
    from tenuto.cli.views.terminal import say

    used = used_profile()
    if used is None:
        return None
    name, profile = used
    say(f"profile {name}: {profile.server}", style="dim")
    return ServerUrl.of(profile.server, key or profile.key, tenant, is_found=True)
