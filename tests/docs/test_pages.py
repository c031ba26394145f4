"""Every page can be followed from its top to its end, and leads where it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.manual import PAGE, page
from tests.docs.blocks import ROOT, blocks, commands
from tests.docs.changing import changed
from tests.docs.console import agrees, program
from tests.docs.page import follow

CONCEPTS = sorted(
    file.relative_to(ROOT).as_posix() for file in (ROOT / "docs" / "concepts").glob("*.md")
)
PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/quickstart.md",
    "docs/operations.md",
    "docs/postgresql.md",
    "docs/python.md",
    "docs/testing.md",
    "docs/webhooks.md",
    "docs/schedules.md",
    "docs/access.md",
    *CONCEPTS,
]
HOW_TO = sorted(
    file.relative_to(ROOT).as_posix() for file in (ROOT / "docs" / "howto").glob("*.md")
)
LINKED = sorted(
    file.relative_to(ROOT).as_posix()
    for file in [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("src/**/*.md"),
    ]
)


def is_heavy(name: str) -> bool:
    """Whether a page runs commands of Tenuto, or serves: each a process."""
    typed = [each.text for each in blocks(name) if each.language == "console"]
    return any(
        command.line.startswith(("tenuto", "uvicorn"))
        for text in typed
        for command in commands(text)
    )


_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
_ANCHOR = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_followed(name: str, tmp_path: Path) -> None:
    follow(name, tmp_path)


# Dozens of processes, some of which serve: the pages without them are followed in every test run.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[pytest.mark.soak] if is_heavy(each) else []) for each in HOW_TO],
)
def test_every_how_to_can_be_followed(name: str, tmp_path: Path) -> None:
    follow(name, tmp_path)


@pytest.mark.parametrize("name", ["docs/tutorial.md", *CONCEPTS])
def test_what_a_command_prints_is_shown(name: str) -> None:
    shown = [
        command
        for block in blocks(name)
        if block.language == "console"
        for command in commands(block.text)
    ]
    assert shown
    assert [command.line for command in shown if not command.output] == []


@pytest.mark.slow
def test_the_sample_of_the_readme_prints_what_it_says_twice(tmp_path: Path) -> None:
    sample = next(each for each in blocks("README.md") if each.language == "python")
    assert len([line for line in sample.text.splitlines() if line.strip()]) <= 12
    (tmp_path / "sample.py").write_text(sample.text, encoding="utf-8")
    for _ in range(2):
        assert program("sample.py", tmp_path).stdout == "Hello, world!\n"


def test_the_reference_of_the_command_line_is_its_own_help() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), "run: python -m tests.cli.manual"


@pytest.mark.parametrize("name", LINKED)
def test_every_link_leads_somewhere(name: str) -> None:
    page_file = ROOT / name
    targets = _LINK.findall(_CODE.sub("", page_file.read_text(encoding="utf-8")))
    missing = [each for each in targets if not (page_file.parent / each).exists()]
    assert missing == []


@pytest.mark.parametrize("name", LINKED)
def test_every_anchor_names_a_heading(name: str) -> None:
    page_file = ROOT / name
    links = _ANCHOR.findall(_CODE.sub("", page_file.read_text(encoding="utf-8")))
    missing = [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in _anchors(page_file.parent / target if target else page_file)
    ]
    assert missing == []


def _anchors(page_file: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings, which are all different."""
    headings = _HEADING.findall(_FENCED.sub("", page_file.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_a_block_takes_the_place_of_its_namesakes() -> None:
    file = "import a\nfrom b import c\n\n\n@c\ndef one(): ...\n\n\n@c\ndef two(): ...\n"
    block = "import e\nfrom b import c, d\n\nx: int = 1\n\n\n@d\ndef two(): return 2\n"
    block += "\n\ndef three(): ...\n"
    assert changed(file, block) == (
        "import e\nimport a\nfrom b import c, d\n\n\n@c\ndef one(): ...\n\n\n"
        "x: int = 1\n\n\n@d\ndef two(): return 2\n\n\ndef three(): ...\n"
    )


@pytest.mark.parametrize(
    ("shown", "printed", "is_same"),
    [
        ("✓ held  0.0 s", "✓ held    1.2 s", True),
        ("in 3 d", "in 2 d 23 h", True),
        (
            "took 01a1e1a2-5687-7620-a44d-c4ad6ecb5312",
            "took 01a1e1a5-e1f4-7421-af22-22619a330d83",
            True,
        ),
        ("first\n…\nlast", "first\na\nb\nlast", True),
        ("first\nlast", "first\na\nlast", False),
        ("paid 40", "paid 41", False),
        ("3 passed", "2 passed", False),
    ],
)
def test_only_ids_times_and_spaces_may_differ(shown: str, printed: str, is_same: bool) -> None:
    assert agrees(shown, printed) is is_same
