"""Other people's engines, each in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENVIRONMENT = ROOT / ".bench" / "dbos"


def dbos_seconds_per_step(count: int, steps: int = 10, url: str | None = None) -> float:
    """Seconds that one no-op step takes on DBOS Transact, on a new SQLite file or at `url`."""
    python = ENVIRONMENT / "bin" / "python"
    installed = ENVIRONMENT / ".installed"
    if not installed.exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run(
            [
                python,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--require-hashes",
                "-r",
                ROOT / "requirements" / "dbos.txt",
            ],
            check=True,
        )
        installed.touch()
    done = subprocess.run(
        [python, ROOT / "bench" / "dbos_linear.py", str(count), *([url] if url else [])],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout.strip().splitlines()[-1]) / (count * steps)


if __name__ == "__main__":
    print(dbos_seconds_per_step(int(sys.argv[1])))
