"""A store as one tenant sees it: the verbs that are marked for tenants, and no others."""

from __future__ import annotations

from typing import Any, cast

from tenuto.store.marks import Kind, is_for_tenants, kind_of
from tenuto.store.protocol import PARTS, Parts


def tenant_view(parts: Parts, reads: Parts | None = None) -> Parts:
    """The same record, in which every verb that is not marked `for_tenants` is refused.

    Verbs that read are those of `reads`, where that is given.
    """
    return cast("Parts", _View(parts, reads))


class _View:
    """Parts by name; each is wrapped at its first use."""

    def __init__(self, parts: Parts, reads: Parts | None) -> None:
        self._parts = parts
        self._reads = parts if reads is None else reads

    def __getattr__(self, name: str) -> _PartView:
        view = _PartView(getattr(self._parts, name), getattr(self._reads, name), PARTS[name])
        setattr(self, name, view)
        return view


class _PartView:
    """One part; a verb is checked when it is used."""

    def __init__(self, part: object, reads: object, protocol: type) -> None:
        self._part = part
        self._reads = reads
        self._protocol = protocol

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - whatever the part has
        if not is_for_tenants(self._protocol, verb):
            raise LookupError(f"{self._protocol.__name__}.{verb} is not a verb for tenants")
        is_read = kind_of(self._protocol, verb) is Kind.READ
        return getattr(self._reads if is_read else self._part, verb)
