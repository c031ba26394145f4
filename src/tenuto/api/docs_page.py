"""The page `/docs`: every operation with its permission and statuses; it loads nothing."""

from __future__ import annotations

from html import escape
from itertools import groupby

from tenuto import __version__
from tenuto.api.openapi import statuses
from tenuto.api.operation import Operation

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c2024; background: #fff; }
@media (prefers-color-scheme: dark) { body { color: #edeef0; background: #111113; } }
h2 { margin-top: 2.5rem; text-transform: capitalize; }
dt { font-family: ui-monospace, monospace; margin-top: 1rem; }
dt b { display: inline-block; min-width: 5rem; }
dd { margin-left: 5rem; }
small { opacity: 0.75; }
"""


def docs_page(operations: tuple[Operation, ...]) -> str:
    """The page as HTML."""
    shown = [each for each in operations if each.method != "WEBSOCKET"]
    chapters = "".join(
        f"<h2>{escape(tag)}</h2><dl>{''.join(map(_entry, group))}</dl>"
        for tag, group in groupby(shown, key=lambda each: each.tag)
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Tenuto API</title><style>{_STYLE}</style></head><body>"
        f"<h1>Tenuto {escape(__version__)}</h1>"
        '<p>Programs read <a href="/openapi.json">/openapi.json</a>.</p>'
        f"{chapters}</body></html>"
    )


def _entry(operation: Operation) -> str:
    permission = "everyone" if operation.permission is None else operation.permission.value
    answers = ", ".join(map(str, statuses(operation)))
    return (
        f"<dt><b>{escape(operation.method)}</b> {escape(operation.path)}</dt>"
        f"<dd>{escape(operation.summary)}<br>"
        f"<small>{escape(permission)} · {answers}</small></dd>"
    )
