"""Every setting by its name, with the type of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, get_origin

from msgspec import Struct, structs

from tenuto.config.config import Config

PREFIX = "TENUTO_"


class Setting(NamedTuple):
    """One setting."""

    name: str
    """With dots: `engine.limits.input_bytes`."""
    type: Any

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.name.replace(".", "_").upper()

    @property
    def is_table(self) -> bool:
        """Whether its value is a table whose names a user chooses; in the environment JSON."""
        return get_origin(self.type) is Mapping


@cache
def settings() -> Mapping[str, Setting]:
    """All settings, in the order in which they are shown."""
    return MappingProxyType({each.name: each for each in _below("", Config)})


def value_of(config: Struct, name: str) -> object:
    """The value of a setting."""
    found: object = config
    for part in name.split("."):
        found = getattr(found, part)
    return found


def sections() -> set[str]:
    """Names of groups of settings: `engine`, `engine.limits`."""
    return {name.rpartition(".")[0] for name in settings() if "." in name}


def _below(prefix: str, kind: type[Struct]) -> Iterator[Setting]:
    for field in structs.fields(kind):
        name = prefix + field.name
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            yield from _below(f"{name}.", field.type)
        else:
            yield Setting(name, field.type)
