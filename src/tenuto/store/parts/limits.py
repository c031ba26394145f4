"""The limits that are set, by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tenuto.model.slots import ANY, GLOBAL, ConcurrencyConfig
from tenuto.store.cold.port import Row
from tenuto.store.parts.slot_rows import SERVICE

_MOST_KEYS = 10_000
"""The most keys whose limits are remembered."""


class Limits:
    """The limits that are set, by key."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """`rows`: tenant and document of each."""
        self._configs = {
            tenant: msgspec.json.decode(bytes(document), type=ConcurrencyConfig)
            for tenant, document in rows
        }
        self._service = self._configs.get(SERVICE, ConcurrencyConfig())
        self._known: dict[str, int | None] = {}
        self._asked: int | None = None

    @classmethod
    def of_configs(cls, configs: Mapping[str, ConcurrencyConfig]) -> Limits:
        """The same, of documents that were read."""
        made = cls(())
        made._configs = dict(configs)
        made._service = made._configs.get(SERVICE, ConcurrencyConfig())
        return made

    def of(self, key: str) -> int | None:
        """The limit of a key; None: there is none."""
        if key not in self._known:
            if len(self._known) >= _MOST_KEYS:
                self._known.clear()
            self._known[key] = self._of(key)
        return self._known[key]

    def _of(self, key: str) -> int | None:
        kind, _, name = key.partition(":")
        match kind:
            case "mutex":
                return 1
            case "tenant":
                return _of(self._service.tenant_limits, name)
            case "type" | "user":
                tenant, _, which = name.partition("/")
                config = self._configs.get(tenant)
                if config is None:
                    return None
                by_name = config.workflow_type_limits if kind == "type" else config.user_limits
                return _of(by_name, which)
            case _:
                return self._of_all() if key == GLOBAL else None

    def adapt(self, asked: int | None) -> None:
        """Take into account what the processes ask for; None: none of them has said."""
        self._asked = asked
        self._known.pop(GLOBAL, None)

    @property
    def is_adaptive(self) -> bool:
        """Whether the limit of all instances follows the load."""
        return self._service.is_adaptive

    def _of_all(self) -> int | None:
        most, rules = self._service.global_max_concurrent, self._service.resource_based_limits
        if rules is None or not rules.enabled:
            return most
        asked = rules.min if self._asked is None else min(max(self._asked, rules.min), rules.max)
        return asked if most is None else min(most, asked)

    def weight(self, tenant: str) -> int:
        """How often a tenant has its turn."""
        return _of(self._service.queue.per_tenant_share, tenant) or 1

    @property
    def is_global(self) -> bool:
        """Whether tenants share a limit."""
        return self._service.is_global


def _of(limits: Mapping[str, int], name: str) -> int | None:
    return limits.get(name, limits.get(ANY))
