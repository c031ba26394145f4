"""Writes the reference from the code: `python -m tests.docs.reference`."""

from __future__ import annotations

from tests.docs.reference.pages import FOLDER, NAMES, page

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        (FOLDER / name).write_text(page(name), encoding="utf-8")
