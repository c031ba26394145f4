"""`tenuto explain`: the long form of an error code, or why an instance is not moving."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from datetime import datetime

from tenuto.cli import exits
from tenuto.cli.finding import find_instance
from tenuto.cli.looking import looking_at
from tenuto.cli.moments import ago, countdown, length
from tenuto.cli.progress import STATUS_MARKS
from tenuto.cli.terminal import show, show_json, styled
from tenuto.core.explain import spelled
from tenuto.engine.events.explainer import explanation_view
from tenuto.model.causes import Cause, CauseKind
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import NotFound

_CODE = re.compile(r"TEN.*|\d{4}", re.IGNORECASE)
"""A beginning of an id that has four digits and no letter is taken for a code: write more of it."""


_OVER = (CauseKind.COMPLETED, CauseKind.FAILED, CauseKind.CANCELLED)


async def explain(url: str, text: str, *, is_json: bool) -> int:
    """Explain a code, or an instance."""
    if _CODE.fullmatch(text.strip()):
        return _explain_code(text, is_json=is_json)
    return await _explain_instance(url, text, is_json=is_json)


def _explain_code(text: str, *, is_json: bool) -> int:
    """Say what a code means and what to do about it."""
    code = _normal(text)
    found = CATALOGUE.get(code)
    if found is None:
        near = difflib.get_close_matches(code, CATALOGUE, n=3)
        advice = f"Did you mean {', '.join(near)}?" if near else "Codes look like TEN-1042."
        raise NotFound(f"there is no code {text}", advice=advice)
    if is_json:
        show_json(
            {
                "code": code,
                "title": found.title,
                "explanation": found.explanation,
                "advice": found.advice,
                **({} if found.reason is None else {"reason": found.reason}),
            }
        )
        return exits.DONE
    show(f"{code}  {found.title}\n\n{found.explanation}\n\nWhat to do: {found.advice}")
    if found.reason is not None:
        show(f"\nWhile an instance runs, the same is {found.reason}.")
    return exits.DONE


async def _explain_instance(url: str, text: str, *, is_json: bool) -> int:
    """Say where an instance stands and what it waits for."""
    async with looking_at(url) as reader:
        row = await find_instance(reader, text)
        explained = await reader.explained(row.id)
        now = reader.clock.now()
    if is_json:
        show_json(explanation_view(explained))
        return exits.DONE
    mark, style = STATUS_MARKS[explained.status]
    show(styled(f"{mark} {explained.status.value}", style, f"  {explained.instance_id}"))
    for line in _lines(explained.causes, now):
        show(f"  {line}")
    return exits.DONE


def _lines(causes: Iterable[Cause], now: datetime, depth: int = 0) -> Iterable[str]:
    for cause in causes:
        place = f"{spelled(cause)}: " if cause.step_id else ""
        yield f"{'  ' * depth}{place}{cause.message}{_when(cause, now)}"
        if (advice := cause.details.get("advice")) is not None:
            yield f"{'  ' * depth}  {advice}"
        yield from _lines(cause.causes, now, depth + 1)


def _when(cause: Cause, now: datetime) -> str:
    said: list[str] = []
    if cause.since is not None:
        is_over = cause.kind in _OVER
        said.append(ago(cause.since, now) if is_over else f"for {length(now - cause.since)}")
    if cause.until is not None:
        said.append(f"{countdown(cause.until - now)} left" if cause.until > now else "due now")
    return f"  ({', '.join(said)})" if said else ""


def _normal(text: str) -> str:
    """`ten-1042` and `1042` mean TEN-1042."""
    upper = text.strip().upper()
    return f"TEN-{upper}" if upper.isdigit() else upper
