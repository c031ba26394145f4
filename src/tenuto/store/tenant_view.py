"""A store as one tenant sees it: the verbs that are marked for tenants, and no others."""

from __future__ import annotations

from typing import Any, cast

from tenuto.store.marks import is_for_tenants
from tenuto.store.protocol import PARTS, Parts


def tenant_view(parts: Parts) -> Parts:
    """The same record, in which every verb that is not marked `for_tenants` is refused."""
    return cast("Parts", _View(parts))


class _View:
    """Parts by name; each is wrapped at its first use."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __getattr__(self, name: str) -> _PartView:
        view = _PartView(getattr(self._parts, name), PARTS[name])
        setattr(self, name, view)
        return view


class _PartView:
    """One part; a verb is checked when it is used."""

    def __init__(self, part: object, protocol: type) -> None:
        self._part = part
        self._protocol = protocol

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - whatever the part has
        if not is_for_tenants(self._protocol, verb):
            raise LookupError(f"{self._protocol.__name__}.{verb} is not a verb for tenants")
        return getattr(self._part, verb)
