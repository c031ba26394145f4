"""The site of the documentation has every page once, and needs nothing from elsewhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.docs.llms import PAGE, listed, site, text
from tests.docs.site.arrangement import DRAWINGS, arranged, pages
from tests.docs.site.built import problems
from tests.docs.site.draw import diagrams

KINDS = ["Start", "Tutorial", "How-to", "Reference", "Explanation"]


def test_every_page_is_on_the_site_once_under_one_of_the_kinds() -> None:
    kinds = dict(listed())
    assert list(kinds) == KINDS
    shown = Counter(place for places in kinds.values() for place in places)
    assert shown == Counter(place for place in pages().values() if place.endswith(".md"))


def test_the_list_for_language_models_is_that_of_the_site() -> None:
    assert PAGE.read_text(encoding="utf-8") == text(), "run: python -m tests.docs.llms"


def test_the_site_is_set_to_load_nothing_from_another_host() -> None:
    settings = site()
    assert settings["theme"]["font"] is False
    assert settings["plugins"] == ["search"]
    assert [each for each in settings["extra_css"] if not (ROOT / "docs" / each).is_file()] == []
    assert not settings.keys() & {"extra_javascript", "repo_url", "extra"}


@pytest.mark.parametrize(
    ("written", "on_the_site"),
    [
        ("See [it](../quickstart.md#a-task).", "See [it](../quickstart.md#a-task)."),
        ("See [it](../../ARCHITECTURE.md).", "See [it](../architecture.md)."),
        ("See [it](../../examples).", "See [it](../examples/index.md)."),
        ("See [it](../../examples/saga).", "See [it](../examples/saga.md)."),
        ("See [`it`](../../src/tenuto/core/README.md).", "See `it`."),
        ("See [it](https://example.com).", "See [it](https://example.com)."),
        ("```python file=tasks.py\n[a](b)\n```", '```python title="tasks.py"\n[a](b)\n```'),
        ("```python into=tasks.py\n```", '```python title="in tasks.py"\n```'),
        ("```mermaid\n```", "```text\n```"),
    ],
)
def test_links_and_blocks_of_a_page_fit_the_site(written: str, on_the_site: str) -> None:
    assert arranged("docs/howto/retries.md", written, pages()) == f"{on_the_site}\n"


def test_no_drawing_is_of_a_diagram_that_was_changed() -> None:
    drawn = {each.name for each in DRAWINGS.iterdir()}
    assert drawn - {name for name, _ in diagrams()} == set(), "run: python -m tests.docs.site.draw"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html#there">', None),
        ('<a href="https://example.com">', None),
        ('<a href="missing.html">', "page.html: missing.html leads nowhere"),
        ('<a href="other.html#nowhere">', "page.html: other.html#nowhere names no heading"),
        ('<script src="https://example.com/a.js">', "page.html loads https://example.com/a.js"),
        ('<link rel="stylesheet" href="//example.com/a.css">', "loads //example.com/a.css"),
        ('<img src="a.png">', "page.html: a.png leads nowhere"),
    ],
)
def test_a_built_site_is_checked(tmp_path: Path, body: str, problem: str | None) -> None:
    (tmp_path / "page.html").write_text(f"<html>{body}</html>")
    (tmp_path / "other.html").write_text('<html><h2 id="there">There</h2></html>')
    found = list(problems(tmp_path))
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]


def test_a_style_sheet_that_loads_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face { src: url('https://example.com/a.woff') }")
    assert list(problems(tmp_path)) == ["a.css loads from another host"]


def test_what_builds_the_site_is_pinned_apart_from_what_runs_and_tests() -> None:
    requirements = ROOT / "requirements"
    assert "mkdocs-material==" in (requirements / "docs.txt").read_text(encoding="utf-8")
    for other in ("dev.txt", "run.txt"):
        assert "mkdocs" not in (requirements / other).read_text(encoding="utf-8")
