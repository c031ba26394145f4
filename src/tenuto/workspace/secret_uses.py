"""What names a secret: definitions, and data sources."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.store.protocol import Parts
from tenuto.workspace.definition_uses import found_in_definitions
from tenuto.workspace.secret_values import SecretUses

MOST: Final = 100
"""So many of each kind are named."""
_PAGE: Final = 200
_SHOWN: Final = 5
_MARK: Final = b"secrets"
_SPACE: Final = rb"(?:\s|\\[nrt])*"
_REFERENCE: Final = re.compile(
    rb"\{\{" + _SPACE + rb"secrets" + _SPACE + rb"\." + _SPACE + rb"([A-Za-z_][A-Za-z0-9_]*)"
)
"""The one form in which a definition may name a secret, in the JSON of its content."""


async def secret_uses(
    seen: Parts, values: LargeDocuments, tenant: str, names: Collection[str]
) -> Mapping[str, SecretUses]:
    """What of a tenant names each of these secrets."""
    found = {name: SecretUses(workflows=[], data_sources=[]) for name in names}
    if found:
        named = found_in_definitions(seen, values, tenant, _MARK, named_in)
        async for workflow, secrets in named:
            for name in secrets & found.keys():
                if len(found[name].workflows) < MOST:
                    found[name].workflows.append(workflow)
    await _add_sources(seen, tenant, found)
    return found


async def _add_sources(seen: Parts, tenant: str, found: Mapping[str, SecretUses]) -> None:
    after = ""
    while found:
        rows = await seen.data_sources.page(tenant, after=after, limit=_PAGE)
        for row in rows:
            name = _read_head(row.document).secret_ref
            if name in found and len(found[name].data_sources) < MOST:
                found[name].data_sources.append(row.id)
        if len(rows) < _PAGE:
            return
        after = rows[-1].id


class _Head(msgspec.Struct, rename="camel"):
    """The one field of a data source that is looked at."""

    secret_ref: str = ""


_read_head = msgspec.json.Decoder(_Head).decode


def named_in(content: bytes) -> frozenset[str]:
    """The secrets that the content of a definition names."""
    return frozenset(each.decode() for each in _REFERENCE.findall(content))


def uses_text(uses: SecretUses) -> str:
    """What uses a secret, in words; empty if nothing does."""
    kinds = (("workflow", uses.workflows), ("data source", uses.data_sources))
    return ", ".join(_listed(kind, ids) for kind, ids in kinds if ids)


def _listed(kind: str, ids: list[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return f"the {kind}{'s' if len(ids) > 1 else ''} {', '.join(ids[:_SHOWN])}{more}"
