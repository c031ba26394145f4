"""`tenuto validate`: everything that is wrong with a definition, at once."""

from __future__ import annotations

from pathlib import Path

from tenuto.cli import exits
from tenuto.cli.errors import problem_json, show_problems
from tenuto.cli.sources import Source, read_source
from tenuto.cli.terminal import say, show, show_json
from tenuto.definition import unavailable
from tenuto.model.errors import InvalidDefinition, Problem


async def validate(path: Path, *, is_json: bool) -> int:
    """Check a file; exits 0 when it could be saved, 2 when it has errors."""
    try:
        source = read_source(path)
    except InvalidDefinition as error:
        if not is_json:
            raise
        show_json({"valid": False, "problems": [problem_json(each) for each in error.problems]})
        return exits.USAGE
    problems = [*source.problems, *_not_runnable(source)]
    is_valid = source.definition is not None
    if is_json:
        show_json({"valid": is_valid, "problems": [problem_json(each) for each in problems]})
        return exits.DONE if is_valid else exits.USAGE
    if not is_valid:
        source.checked()
    assert source.definition is not None
    if problems:
        say(f"{path} is valid, with remarks:")
        show_problems(problems, source.positions)
    nodes = len(source.definition.graph.nodes)
    show(f"✓ {source.definition.id}: {nodes} step{'' if nodes == 1 else 's'}, valid")
    return exits.DONE


def _not_runnable(source: Source) -> list[Problem]:
    """What the definition uses that cannot be started: valid, so no error."""
    if source.definition is None:
        return []
    return [
        Problem(
            code=each.code,
            path=each.path,
            message=each.message,
            advice=each.advice,
            severity="warning",
        )
        for each in unavailable(source.definition)
    ]
