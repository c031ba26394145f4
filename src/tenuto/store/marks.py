"""Marks of a store's verbs: what each does to the store, and whether a tenant may use it.

A verb without a mark reads. Wrappers around a part (simulated faults, scripted stores, the view of
one tenant) are written once against these marks, and know no verb by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

Verb = TypeVar("Verb", bound=Callable[..., Any])


class Kind(StrEnum):
    """What a call does to the store."""

    READ = "read"
    CLAIM = "claim"
    """It claims something for this process; it may be repeated whether or not it was done."""
    WRITE = "write"
    """It is durable when it returns."""


def writes(verb: Verb) -> Verb:
    """The verb is a durable write."""
    verb.__dict__["kind"] = Kind.WRITE
    return verb


def claims(verb: Verb) -> Verb:
    """The verb claims something for the calling process."""
    verb.__dict__["kind"] = Kind.CLAIM
    return verb


def for_tenants(verb: Verb) -> Verb:
    """The verb may be used for one tenant, on connections that see no other tenant's rows."""
    verb.__dict__["is_for_tenants"] = True
    return verb


def kind_of(part: type, verb: str) -> Kind:
    """What a verb of a part's protocol does."""
    found = getattr(part, verb).__dict__.get("kind", Kind.READ)
    assert isinstance(found, Kind)
    return found


def is_for_tenants(part: type, verb: str) -> bool:
    """Whether a verb of a part's protocol may be used for one tenant."""
    return "is_for_tenants" in getattr(part, verb).__dict__
