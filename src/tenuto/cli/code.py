"""Parses the code in definitions that a command reads, in a sandbox of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from tenuto.cli.sources import Source
    from tenuto.engine.definitions.code_checks import CodeChecks


async def code_checked(sources: Sequence[Source]) -> list[Source]:
    """The same sources, with the problems of their code; without code no process is started."""
    if not any(each.code for each in sources):
        return [*sources]
    from tenuto.built_in.protocol import code_checker
    from tenuto.compose import build_executors
    from tenuto.engine.definitions.code_checks import CodeChecks
    from tenuto.model.graph import JavaScript
    from tenuto.ports import SystemClock

    executors = build_executors()
    checks = CodeChecks(SystemClock(), code_checker(executors))
    try:
        return [await _checked(each, checks) for each in sources]
    finally:
        await executors[JavaScript].close()


async def _checked(source: Source, checks: CodeChecks) -> Source:
    found = tuple(await checks.problems(source.code, "cli"))
    if source.flow is not None:
        found = source.flow.located(found)
    is_refused = any(each.severity == "error" for each in found)
    return replace(
        source,
        definition=None if is_refused else source.definition,
        problems=(*source.problems, *found),
    )
