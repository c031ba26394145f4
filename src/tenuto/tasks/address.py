"""How a child process finds the function that its parent means."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tenuto.model.failure import Failure
from tenuto.tasks.failures import Refused
from tenuto.tasks.frames import Address
from tenuto.tasks.function import TaskFunction

NOT_IMPORTABLE = "NOT_IMPORTABLE"
"""A child process cannot find the function of a task."""

_MAIN = "__tenuto_main__"
"""The name of the parent's script in a child, where `__name__ == "__main__"` must be false."""


def address_of(task: TaskFunction[..., Any]) -> Address:
    """Where a child process finds `task`; Refused if it cannot."""
    name: str | None = task.fn.__module__
    module = sys.modules.get(task.fn.__module__)
    file = getattr(module, "__file__", None)
    if name == "__main__":
        spec = getattr(module, "__spec__", None)
        if spec is None and file is None:
            raise _refused(task.name, "it was written at the prompt, not in a file")
        # `python -m package.module` has a name to import, `python script.py` only a file.
        name = None if spec is None else spec.name
    where = None if file is None else str(Path(file).resolve())
    return Address(name, where, task.fn.__qualname__, task.undoes)


def find(address: Address) -> TaskFunction[..., Any]:
    """The function at `address`, its module imported if it is not yet."""
    found: Any = _module(address)
    for part in address.qualname.split("."):
        found = getattr(found, part, None)
    if isinstance(found, TaskFunction) and found.undoes == address.undoes:
        return found
    if isinstance(found, TaskFunction):
        # One function may be a task, and undo others.
        found = found.fn
    if not callable(found):
        raise _refused(address.qualname, f"{address.module or address.file} does not have it")
    return TaskFunction(found, undoes=address.undoes)


def _module(address: Address) -> ModuleType:
    if address.module is not None:
        known = sys.modules.get(address.module)
        if known is not None:
            return known
        if _is_importable(address.module):
            return importlib.import_module(address.module)
    name = address.module or _MAIN
    known = sys.modules.get(name)
    if known is not None:
        return known
    return _load(name, address)


def _is_importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        # A package above it is not there.
        return False


def _load(name: str, address: Address) -> ModuleType:
    spec = None
    if address.file is not None:
        spec = importlib.util.spec_from_file_location(name, address.file)
    if spec is None or spec.loader is None:
        raise _refused(address.qualname, f"there is no module {name}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # The next attempt must not find a half-imported module.
        del sys.modules[name]
        raise
    return module


def _refused(name: str, reason: str) -> Refused:
    message = f"a child process cannot find {name!r}: {reason}"
    return Refused(Failure(code=NOT_IMPORTABLE, message=message, retryable=False))
