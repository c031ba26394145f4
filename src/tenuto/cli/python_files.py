"""Reads workflows from Python files: `file.py`, or `file.py:name`."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, NamedTuple

from tenuto.cli.sources import Source, read_file
from tenuto.cli.task_modules import load_file, namesakes
from tenuto.model.errors import InvalidDefinition, InvalidInput, Problem
from tenuto.python_form.workflow import WorkflowFunction

Flows = dict[str, WorkflowFunction[..., Any]]


class Named(NamedTuple):
    """A Python file, and which of its workflows is meant."""

    file: Path
    name: str | None


def named(path: Path) -> Named | None:
    """What `file.py:name` names; None for other files."""
    file, colon, name = str(path).rpartition(":")
    if colon and file.endswith(".py"):
        return Named(Path(file), name)
    return Named(path, None) if path.suffix == ".py" else None


def read_flows(path: Path, which: Named) -> list[Source]:
    """Every workflow of a file, or the named one; InvalidInput when there is none."""
    read_file(which.file)
    flows = _flows_in(which.file)
    if which.name is None and flows:
        return _sources(path, which, flows)
    chosen = _chosen(flows, which.name)
    if chosen is None:
        raise _none_such(which, flows)
    return [_source(path, chosen)]


def read_flow(path: Path, which: Named) -> Source:
    """The one workflow that is meant; InvalidInput when there are several."""
    found = read_flows(path, which)
    if len(found) > 1:
        raise _several(which, [source.flow.__name__ for source in found if source.flow is not None])
    return found[0]


def _flows_in(file: Path) -> Flows:
    """The workflows that a file defines, by their variables; imported ones are not among them."""
    module = load_file(file)
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, WorkflowFunction) and Path(value.place.file) == file.resolve()
    }


def _chosen(flows: Flows, name: str | None) -> WorkflowFunction[..., Any] | None:
    if name in flows:
        return flows[name]
    return next((flow for flow in flows.values() if flow.id == name), None)


def _source(path: Path, flow: WorkflowFunction[..., Any]) -> Source:
    checked = flow.check()
    return Source(
        path=path,
        document=flow.definition(),
        positions=None,
        definition=checked.definition,
        problems=checked.problems,
        code=checked.code,
        flow=flow,
    )


def _sources(path: Path, which: Named, flows: Flows) -> list[Source]:
    """Every workflow; where one cannot be described, the problems of all."""
    described = [flow for flow in flows.values() if _is_described(flow)]
    problems = namesakes(which.file, flows.values())
    if len(described) == len(flows) and not problems:
        return [_source(path, flow) for flow in described]
    problems += [each for flow in flows.values() for each in flow.errors(is_whole=True)]
    raise InvalidDefinition(f"{which.file} has workflows that cannot be saved", problems)


def _is_described(flow: WorkflowFunction[..., Any]) -> bool:
    try:
        return flow.described is not None
    except InvalidDefinition:
        return False


def _none_such(which: Named, flows: Flows) -> InvalidInput:
    if not flows:
        message = "there is no workflow function in it"
        advice = "Put @workflow above a function."
    else:
        message = f"there is no workflow `{which.name}` in it"
        near = difflib.get_close_matches(str(which.name), flows, n=1)
        advice = f"Did you mean `{near[0]}`? " if near else ""
        advice += f"It has {', '.join(f'`{name}`' for name in flows)}."
    return _refused(which, message, advice)


def _several(which: Named, names: list[str]) -> InvalidInput:
    listing = ", ".join(f"`{name}`" for name in names)
    advice = f"Name one: {which.file}:{names[0]}."
    return _refused(which, f"it has several workflows: {listing}", advice)


def _refused(which: Named, message: str, advice: str) -> InvalidInput:
    problem = Problem(code="TEN-1118", path=str(which.file), message=message, advice=advice)
    return InvalidInput(f"{which.file} does not say which workflow is meant", [problem])
