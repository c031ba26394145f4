"""`tenuto explain`: the long form of an error code, offline."""

from __future__ import annotations

import difflib

from tenuto.cli import exits
from tenuto.cli.terminal import show, show_json
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import NotFound


async def explain_code(text: str, *, is_json: bool) -> int:
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
            }
        )
        return exits.DONE
    show(f"{code}  {found.title}\n\n{found.explanation}\n\nWhat to do: {found.advice}")
    return exits.DONE


def _normal(text: str) -> str:
    """`ten-1042` and `1042` mean TEN-1042."""
    upper = text.strip().upper()
    return f"TEN-{upper}" if upper.isdigit() else upper
