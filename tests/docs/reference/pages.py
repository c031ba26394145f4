"""Every page of the reference, by its file name."""

from __future__ import annotations

from functools import cache

from tests.docs.blocks import ROOT
from tests.docs.reference.facts import limits_page, log_page
from tests.docs.reference.fields import definition_page, nodes_page
from tests.docs.reference.names import python_page, testing_page

FOLDER = ROOT / "docs" / "reference"

_INDEX = """\
# Reference

Generated from the code; a test keeps the two equal.

| page | has |
|---|---|
| [Python](python.md) | every name in `tenuto` |
| [Test kit](testing.md) | every name in `tenuto.testing` |
| [Definitions](definitions.md) | the fields of a definition and its options |
| [Nodes](nodes.md) | the fields and handles of each node type |
| [Limits and defaults](limits.md) | all limits, and the default of every setting |
| [Log entries](log.md) | every type of entry |
| [Command line](../cli.md) | every command and its options |
| [Errors](../errors.md) | every code |
"""
_MARK = "<!-- Generated: python -m tests.docs.reference -->\n\n"


_WRITERS = {
    "README.md": lambda: _INDEX,
    "python.md": python_page,
    "testing.md": testing_page,
    "definitions.md": definition_page,
    "nodes.md": nodes_page,
    "limits.md": limits_page,
    "log.md": log_page,
}
NAMES = tuple(_WRITERS)


@cache
def page(name: str) -> str:
    """What stands in a file."""
    return _MARK + _WRITERS[name]().strip() + "\n"
