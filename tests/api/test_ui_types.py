"""The types of the web UI are those of the service."""

from __future__ import annotations

from pathlib import Path

from tests.api.ui_types import digest

SCHEMA = Path(__file__).parents[2] / "ui/src/api/schema.ts"


def test_the_types_of_the_web_ui_are_generated_from_the_operations_that_there_are() -> None:
    first = SCHEMA.read_text().partition("\n")[0]
    assert first.endswith(digest()), "run ui/scripts/schema.sh (npm run schema, in ui/)"
