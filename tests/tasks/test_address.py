"""Where a child process finds functions; seen from within one process."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tenuto.tasks import TaskFunction
from tenuto.tasks.address import address_of, find
from tenuto.tasks.failures import Refused
from tenuto.tasks.frames import Address
from tests.tasks import process_tasks


def test_a_task_of_a_module_is_found_again() -> None:
    address = address_of(process_tasks.double)
    assert address.module == "tests.tasks.process_tasks"
    assert find(address) is process_tasks.double


def test_a_module_that_cannot_be_imported_by_name_is_loaded_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "tasks.py"
    file.write_text("def work():\n    return __name__\n")
    address = Address("no_such_package.tasks", str(file), "work")
    try:
        found = find(address)
        assert found.fn() == "no_such_package.tasks"
        assert find(address).fn is found.fn
    finally:
        del sys.modules["no_such_package.tasks"]


def test_half_a_module_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "tasks.py"
    file.write_text("def work(): ...\nraise KeyError('broken')\n")
    address = Address("broken_tasks", str(file), "work")
    for _ in range(2):
        with pytest.raises(KeyError, match="broken"):
            find(address)


def test_what_is_nowhere_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        find(Address("no_such_module", None, "work"))
    assert refused.value.failure.code == "NOT_IMPORTABLE"
    assert "there is no module no_such_module" in refused.value.failure.message


def test_a_function_typed_at_the_prompt_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None: ...

    work.__module__ = "__main__"
    main = ModuleType("__main__")
    main.__spec__ = None
    monkeypatch.setitem(sys.modules, "__main__", main)
    with pytest.raises(Refused, match="at the prompt"):
        address_of(TaskFunction(work))
