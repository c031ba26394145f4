"""Looks for barriers in a page with axe-core: what keeps people from reading or using it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from playwright.sync_api import Page

from tests.ui.browser import AXE

_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
_FOUND = """async (only) => (await axe.run(document, {
  runOnly: only,
})).violations.map(({id, impact, help, nodes}) => ({
  id, impact, help, nodes: nodes.slice(0, 3).map(({html}) => html),
}))"""
_SERIOUS = ("serious", "critical")

_SETTLED = """async () => {
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const each of document.getAnimations()) {
        if (each.effect?.getComputedTiming().iterations !== Infinity) each.finish();
    }
}"""


def barriers(page: Page, *, only: Sequence[str] = _TAGS) -> list[dict[str, Any]]:
    """The serious findings in a page as it is shown now, of these rules or tags of rules."""
    # By the protocol of the browser: the content security policy allows no other way, as it should.
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(_axe())
    # Colours change with the next frames after another theme, some of them by and by.
    page.evaluate(_SETTLED)
    found: list[dict[str, Any]] = page.evaluate(_FOUND, list(only))
    return [each for each in found if each["impact"] in _SERIOUS]


@cache
def _axe() -> str:
    return AXE.read_text(encoding="utf-8")
