"""`tenuto validate`: everything that is wrong with a definition, at once."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tenuto.cli import exits
from tenuto.cli.sources import Source, read_sources
from tenuto.cli.views.errors import problem_json, show_problems
from tenuto.cli.views.terminal import say, show, show_json
from tenuto.definition import unavailable
from tenuto.model.errors import InvalidDefinition, Problem


async def validate(path: Path, *, is_json: bool) -> int:
    """Check a file; exits 0 when all in it could be saved, 2 when something has errors."""
    try:
        sources = read_sources(path)
    except InvalidDefinition as error:
        if not is_json:
            raise
        show_json({"valid": False, "problems": [problem_json(each) for each in error.problems]})
        return exits.USAGE
    is_valid = all(source.definition is not None for source in sources)
    if is_json:
        problems = [each for source in sources for each in _problems(source)]
        show_json({"valid": is_valid, "problems": [problem_json(each) for each in problems]})
        return exits.DONE if is_valid else exits.USAGE
    if len(sources) > 1 and not is_valid:
        problems = [each for source in sources for each in source.problems]
        raise InvalidDefinition(f"{path} has workflows that cannot be saved", problems)
    for source in sources:
        _tell(source)
    return exits.DONE


def _tell(source: Source) -> None:
    definition = source.checked()
    problems = _problems(source)
    if problems:
        say(f"{source.path} is valid, with remarks:")
        show_problems(problems, source.positions)
    nodes = len(definition.graph.nodes)
    show(f"✓ {definition.id}: {nodes} step{'' if nodes == 1 else 's'}, valid")


def _problems(source: Source) -> list[Problem]:
    return [*source.problems, *_not_runnable(source)]


def _not_runnable(source: Source) -> list[Problem]:
    """What the definition uses that cannot be started: valid, so no error."""
    if source.definition is None:
        return []
    problems = unavailable(source.definition)
    if source.flow is not None:
        problems = source.flow.located(problems)
    return [replace(each, severity="warning") for each in problems]
