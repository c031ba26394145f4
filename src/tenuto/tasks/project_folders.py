"""The folders of projects on the path of imports: their files never stand in for our libraries.

A folder comes before the libraries, as that of a script does. A file in it may be called `rich.py`,
and our modules import libraries late: the names of Python's own modules, and of the packages that
Tenuto requires, are looked up without these folders.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from types import ModuleType
from typing import Final

_OURS: Final = ("tenuto", "otel")
"""This package, and its extra for those who run it."""
_REQUIRED = re.compile(r"([\w.-]+)\s*(?:\[([^]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")


class _Libraries(MetaPathFinder):
    """Finds our libraries where a folder of a project has a module of the same name."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 - the protocol's
    ) -> ModuleSpec | None:
        own = None if path is not None else PathFinder.find_spec(fullname, self.folders)
        if own is None or own.origin is None:
            # Not in these folders; or a namespace, of which libraries may have other parts.
            return None
        library = (
            BuiltinImporter.find_spec(fullname)
            or FrozenImporter.find_spec(fullname)
            or PathFinder.find_spec(
                fullname, [each for each in sys.path if each not in self.folders]
            )
        )
        # What Tenuto requires is looked up last, in the files of all packages.
        is_ours = library and (fullname in sys.stdlib_module_names or fullname in _required())
        return library if is_ours else None


_LIBRARIES: Final = _Libraries()


def import_from(folders: Iterable[str]) -> None:
    """Let modules be imported from these folders too, in their order, before all others."""
    fresh = [each for each in dict.fromkeys(folders) if each not in sys.path]
    _LIBRARIES.folders += fresh
    sys.path[:0] = fresh
    if _LIBRARIES not in sys.meta_path:
        sys.meta_path.insert(0, _LIBRARIES)


@cache
def _required() -> frozenset[str]:
    """The modules of the packages that Tenuto requires, as they are installed."""
    from importlib import metadata  # noqa: PLC0415 - slow, and seldom needed

    todo, known = [_OURS], {_OURS}
    while todo:
        name, extra = todo.pop()
        try:
            lines = metadata.requires(name) or ()
        except metadata.PackageNotFoundError:
            continue
        new = {each for line in lines for each in _wanted(line, extra)} - known
        known |= new
        todo += new
    names = {name for name, _ in known}
    installed = metadata.packages_distributions()
    return frozenset(
        module for module, packages in installed.items() if names & {*map(_normal, packages)}
    )


def _wanted(requirement: str, extra: str) -> list[tuple[str, str]]:
    """The package of a requirement, by itself and with each of its extras."""
    found, only = _REQUIRED.match(requirement), _EXTRA.search(requirement)
    if found is None or (only is not None and only[1] != extra):
        return []
    extras = [each.strip() for each in (found[2] or "").split(",")]
    return [(_normal(found[1]), each) for each in {"", *extras}]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
