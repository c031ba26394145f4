"""The catalogue of failure codes as the UI has it: `python -m tests.ui.failure_codes` writes it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CATALOGUE = ROOT / "src/tenuto/model/failures.toml"
WRITTEN = ROOT / "ui/src/api/failures.ts"
_HEAD = """\
// Generated from src/tenuto/model/failures.toml by `python -m tests.ui.failure_codes`.

export interface Meaning {
  title: string;
  explanation: string;
  advice: string;
}

/** What a code of Tenuto's own means; null: it is the code of a task. */
export const meaningOf = (code: string): Meaning | null =>
  Object.hasOwn(MEANINGS, code) ? (MEANINGS[code] ?? null) : null;

const MEANINGS: Record<string, Meaning> = """


def text() -> str:
    """The file as it has to be."""
    catalogue = tomllib.loads(CATALOGUE.read_text())
    meanings = {
        code: {name: each[name] for name in ("title", "explanation", "advice")}
        for code, each in catalogue.items()
    }
    return f"{_HEAD}{json.dumps(meanings, indent=2, ensure_ascii=False)};\n"


if __name__ == "__main__":
    WRITTEN.write_text(text())
