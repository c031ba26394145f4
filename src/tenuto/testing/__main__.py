"""`python -m tenuto.testing FILE` shows the records of a failing test."""

from __future__ import annotations

import sys
from pathlib import Path

from tenuto.model.errors import TenutoError
from tenuto.testing.failure_file import described, read

USAGE = "usage: python -m tenuto.testing FILE"


def main(arguments: list[str]) -> int:
    """Show a file; 2 when it was not named well, 3 when it cannot be read."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write(f"{USAGE}\n")
        return 2
    try:
        kept = read(Path(arguments[0]))
    except TenutoError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    sys.stdout.write(f"{kept.test}\n\n{described(kept)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
