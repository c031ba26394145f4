"""The fixed tables of everything that an expression can call.

Calling is looking up a name here. There is no other way to reach code, so what these tables do not
name does not exist; a test pins them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from tenuto.expr.library import arrays, functions, iteration, mathematics, scalars, strings
from tenuto.expr.library.calling import Callback, Function, IterationOf, MethodOf

__all__ = [
    "CALLBACKS",
    "CONSTANTS",
    "FUNCTIONS",
    "ITERATIONS",
    "METHODS",
    "METHOD_NAMES",
    "NAMESPACES",
    "OBJECT_METHODS",
    "Callback",
    "Function",
    "IterationOf",
    "MethodOf",
]

FUNCTIONS: Final = MappingProxyType(functions.FUNCTIONS | mathematics.FUNCTIONS)
CONSTANTS: Final = MappingProxyType(functions.CONSTANTS | mathematics.CONSTANTS)
NAMESPACES: Final = frozenset(
    name.partition(".")[0] for name in [*FUNCTIONS, *CONSTANTS] if "." in name
)

CALLBACKS: Final = frozenset({"Boolean", "Number", "String", "parseFloat"})
"""Functions that can be handed over by name where an arrow function is expected."""

OBJECT_METHODS: Final = MappingProxyType(scalars.OF_OBJECTS)
METHODS: Final = MappingProxyType[type, MappingProxyType[str, MethodOf]](
    {
        str: MappingProxyType(strings.METHODS),
        list: MappingProxyType(arrays.METHODS | iteration.UNGUIDED),
        int: MappingProxyType(scalars.OF_NUMBERS),
        float: MappingProxyType(scalars.OF_NUMBERS),
        bool: MappingProxyType(scalars.OF_BOOLEANS),
        dict: OBJECT_METHODS,
    }
)
ITERATIONS: Final = MappingProxyType(iteration.ITERATIONS)
METHOD_NAMES: Final = frozenset(ITERATIONS).union(*METHODS.values())
