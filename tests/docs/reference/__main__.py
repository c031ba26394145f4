"""Writes the reference from the code: `python -m tests.docs.reference`."""

from __future__ import annotations

from tests.docs.reference.pages import FOLDER, pages

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
