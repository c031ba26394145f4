"""The pytest plugin: the fixture `engine`, and the report of a failing test's instances."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tenuto.testing.engine import Engine

_ENGINE = pytest.StashKey["Engine"]()
_HAS_FAILED = pytest.StashKey[bool]()
_SECTION = "what the engine did"


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engine of this test: in memory, on a clock that only the test moves."""
    # Loaded with the first test that asks for it: a project that has none pays nothing.
    from tenuto.testing.engine import Engine  # noqa: PLC0415

    made = Engine()
    request.node.stash[_ENGINE] = made
    yield made
    if request.node.stash.get(_HAS_FAILED, False):
        made.lives.end()
    else:
        made.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell about the instances of a test that failed, and keep them in a file."""
    report = yield
    made = item.stash.get(_ENGINE, None)
    is_told = any(title == _SECTION for title, _ in report.sections)
    if made is not None and call.when == "call" and report.failed and not is_told:
        item.stash[_HAS_FAILED] = True
        if made.shown.lives.begun:
            shown = "" if call.excinfo is None else str(call.excinfo.value)
            report.sections.append((_SECTION, _described(made, item, shown)))
    return report


def _described(made: Engine, item: pytest.Item, shown: str) -> str:
    from tenuto.testing.failure_file import FOLDER, kept  # noqa: PLC0415 - as above

    try:
        return kept(made, item.nodeid, Path(item.config.rootpath) / FOLDER, already=shown)
    except Exception as error:  # noqa: BLE001 - the test's own failure must be seen
        return f"it could not be described: {error!r}"
