"""The closed set of values that an expression can hold.

JSON values, `UNDEFINED`, and `Lazy` objects. Nothing else is a value: a host object that strays
into a scope raises as soon as it is touched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Final, TypeAlias, final

# Any inside the containers: a recursive alias would make lists of JSON and lists of operands
# two unrelated types, although every list here is only ever read.
Value: TypeAlias = None | bool | int | float | str | list[Any] | dict[str, Any]
"""A JSON value: what comes in and what leaves."""


@final
class Undefined:
    """The type of `UNDEFINED`, JavaScript's value for missing properties."""

    __slots__ = ()
    _only: Undefined | None = None

    def __new__(cls) -> Undefined:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __reduce__(self) -> str:
        return "UNDEFINED"


UNDEFINED: Final = Undefined()


class Lazy(ABC):
    """A read-only object whose properties are looked up on demand.

    A context with thousands of variables is never copied into a dict only to read one of them. A
    `Lazy` that leaves an expression is turned into a dict, key by key.
    """

    __slots__ = ()

    @abstractmethod
    def get(self, name: str) -> Operand:
        """The property called `name`, or `UNDEFINED`."""

    @abstractmethod
    def keys(self) -> Iterable[str]:
        """The names of all properties, in the order in which they are shown."""


Operand: TypeAlias = Value | Undefined | Lazy
"""A value inside an expression."""
