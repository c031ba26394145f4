"""Looks for barriers in a page with axe-core: what keeps people from reading or using it."""

from __future__ import annotations

from functools import cache
from typing import Any

from playwright.sync_api import Page

from tests.ui.browser import AXE

_FOUND = """async () => (await axe.run(document, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
})).violations.map(({id, impact, help, nodes}) => ({
  id, impact, help, nodes: nodes.slice(0, 3).map(({html}) => html),
}))"""
_SERIOUS = ("serious", "critical")


def barriers(page: Page) -> list[dict[str, Any]]:
    """The serious findings in a page as it is shown now."""
    # By the protocol of the browser: the content security policy allows no other way, as it should.
    page.evaluate(_axe())
    found: list[dict[str, Any]] = page.evaluate(_FOUND)
    return [each for each in found if each["impact"] in _SERIOUS]


@cache
def _axe() -> str:
    return AXE.read_text(encoding="utf-8")
