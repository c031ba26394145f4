"""Imports the modules of tasks, and reports tasks that are missing."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tenuto.cli.positions import Located
from tenuto.cli.sources import Source
from tenuto.definition.task_places import task_places
from tenuto.model.errors import InvalidDefinition, InvalidInput, NotFound, Problem, TenutoError
from tenuto.tasks.project_folders import import_from
from tenuto.tasks.registry import Registry

if TYPE_CHECKING:
    from tenuto.python_form.workflow import WorkflowFunction

BESIDE: Final = "tasks.py"
NOT_THEIRS: Final = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(each) for each in ("stdlib", "purelib", "platlib")),
)
_LOADED: Final[dict[Path, ModuleType]] = {}


def load_tasks(named: Sequence[str], definition: Path | None) -> list[str]:
    """Import what was named, else `tasks.py` beside the definition; returns what was imported.

    A definition in Python is imported in any case: it has tasks, or imports them.
    """
    if definition is not None and (python := _python_file(definition)) is not None:
        load_file(python)
        for each in named:
            _load(each)
        return [str(python), *named]
    if named:
        for each in named:
            _load(each)
        return list(named)
    if definition is not None and (beside := definition.parent / BESIDE).is_file():
        _load(str(beside))
        return [str(beside)]
    return []


def refuse_unknown_tasks(source: Source, registry: Registry, loaded: Sequence[str]) -> None:
    """Located when a step runs a task that is not registered."""
    problems = [
        Problem(
            code="TEN-2003",
            path=place.path,
            message=f"no task is registered as {place.task_id!r} (UNKNOWN_TASK)",
            advice=_advice(place.task_id, registry, loaded, source.path),
        )
        for place in task_places(source.checked())
        if place.task_id not in registry
    ]
    if problems:
        count = "a task that is" if len(problems) == 1 else f"{len(problems)} tasks that are"
        message = f"{source.path} uses {count} not registered"
        raise Located(InvalidInput(message, problems), source.positions)


def load_file(path: Path) -> ModuleType:
    """Import a Python file; once, however often it is asked for."""
    file = path.resolve()
    if file not in _LOADED:
        _LOADED[file] = _load_all(path)
    return _LOADED[file]


def _load_all(path: Path) -> ModuleType:
    """Import a file to its end; InvalidDefinition lists every problem of the workflows in it."""
    from tenuto.python_form.problems import collecting

    with collecting() as made:
        try:
            module = _load(str(path))
        except (InvalidDefinition, InvalidInput) as error:
            problems = [each for flow in made for each in flow.errors(is_whole=False)]
            if not problems:
                raise
            message = f"{path} cannot be loaded"
            raise InvalidDefinition(message, [*problems, *error.problems]) from error
    if all(flow.fault is None for flow in made):
        return module
    del sys.modules[module.__name__]
    faulty = [(flow, errors) for flow in made if (errors := flow.errors(is_whole=True))]
    problems = [each for _, errors in faulty for each in errors] + namesakes(path, made)
    if len(faulty) == 1:
        count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise InvalidDefinition(f"workflow `{faulty[0][0].id}` has {count}", problems)
    message = f"{path} has {len(faulty)} workflows that cannot be saved"
    raise InvalidDefinition(message, problems)


def namesakes(file: Path, flows: Iterable[WorkflowFunction[..., Any]]) -> list[Problem]:
    """A problem for each workflow of a file that has the id of an earlier one."""
    seen: dict[str, WorkflowFunction[..., Any]] = {}
    return [
        Problem(
            code="TEN-1118",
            path=str(file),
            message=f"two of its workflows have the id `{flow.id}`: {other.place}, {flow.place}",
            advice='Give one of them another id: @workflow("…").',
        )
        for flow in flows
        if Path(flow.place.file) == file.resolve()
        and (other := seen.setdefault(flow.id, flow)) is not flow
    ]


def _python_file(definition: Path) -> Path | None:
    text, colon, _ = str(definition).rpartition(":")
    if colon and text.endswith(".py"):
        return Path(text)
    return definition if definition.suffix == ".py" else None


def _load(named: str) -> ModuleType:
    path = Path(named)
    if named.endswith(".py") and not path.is_file():
        raise NotFound(f"there is no file {named}", advice="Correct the path.")
    folder = path.parent.resolve() if path.is_file() else Path.cwd()
    name = path.stem if path.is_file() else named
    # Tasks can import the modules beside them, and child processes find the module under the same
    # name.
    import_from([str(folder)])
    try:
        if path.is_file() and _is_taken(name, path):
            return _load_as_another(path)
        return importlib.import_module(name)
    except InvalidDefinition:
        # A workflow function that cannot be described says itself where and why.
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            advice = "Name a module that Python finds from here, or a file, such as tasks.py."
            raise NotFound(f"there is no module {name}", advice=advice) from None
        raise _broken(named, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(named, error) from error


def _is_taken(name: str, path: Path) -> bool:
    """Whether `name` is another module than this file."""
    known = sys.modules.get(name)
    if known is not None:
        return getattr(known, "__file__", None) != str(path.resolve())
    found = importlib.util.find_spec(name)
    return found is None or found.origin != str(path.resolve())


def _load_as_another(path: Path) -> ModuleType:
    number = sum(each.startswith("tenuto_tasks_") for each in sys.modules) + 1
    name = f"tenuto_tasks_{number}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _broken(named: str, error: BaseException) -> InvalidInput:
    # What the user wrote, and not what that called of Python's or of ours.
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((*NOT_THEIRS, "<"))
    ]
    place = named
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{os.path.relpath(error.filename)}:{error.lineno}"
    elif frames:
        place = f"{os.path.relpath(frames[-1].filename)}:{frames[-1].lineno}"
    code, message, advice = "TEN-1803", f"{type(error).__name__}: {error}", _correction(error)
    if isinstance(error, TenutoError):
        code, message, advice = error.code, error.message, error.advice or advice
    problem = Problem(code=code, path=place, message=message, advice=advice)
    return InvalidInput(f"the tasks in {named} cannot be loaded", [problem])


def _correction(error: BaseException) -> str:
    if isinstance(error, RuntimeError) and "running event loop" in str(error):
        return (
            'The file is imported, not run: put what starts it under `if __name__ == "__main__":`.'
        )
    return "Correct the file, then try again."


def _advice(task_id: str, registry: Registry, loaded: Sequence[str], path: Path) -> str:
    near = registry.nearest(task_id)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    if not loaded:
        return (
            f"Write it as a function with @task in {path.parent / BESIDE}, "
            "or name the module that has it: --tasks MODULE."
        )
    known = ", ".join(registry) or "none"
    return f"Tasks in {', '.join(loaded)}: {known}."
