"""The reference says what the code says."""

from __future__ import annotations

import pytest

import tenuto
import tenuto.testing
from tenuto.definition.nodes import TYPES
from tenuto.model.entries import EventType
from tests.docs.reference.pages import FOLDER, NAMES, page


@pytest.mark.parametrize("name", NAMES)
def test_every_page_of_the_reference_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == page(name), "run: python -m tests.docs.reference"


def test_there_is_no_other_page() -> None:
    assert {file.name for file in FOLDER.iterdir()} == set(NAMES)


def test_every_public_name_is_there_and_explained() -> None:
    for module, where in ((tenuto, "python.md"), (tenuto.testing, "testing.md")):
        for name in set(module.__all__) - {"__version__"}:
            assert f"# `{name}`\n" in page(where)
            assert getattr(module, name).__doc__


def test_every_node_type_every_field_and_every_entry_is_there() -> None:
    for row in TYPES:
        assert f"## `{row.tag}` (`{row.step}`)\n" in page("nodes.md")
        assert all(f"| `{name}`" in page("nodes.md") for name in row.fields.by_name)
    assert all(f"`{each}`" in page("log.md") for each in EventType)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("inside", [" at 0x", "<class", "<function", "timedelta(", "~P"])
def test_no_page_shows_the_inside_of_python(name: str, inside: str) -> None:
    assert inside not in page(name)
