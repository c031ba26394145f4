"""Does what a page says, from its top to its end, in a folder of its own.

`python -m tests.docs.page PAGE …` writes into pages what their commands print, where that differs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.blocks import ROOT, Block, blocks, commands
from tests.docs.changing import changed
from tests.docs.console import agrees, program, run


def follow(page: str, folder: Path) -> None:
    """Do all of it; AssertionError at the first thing that is not as the page says."""
    for number, block in enumerate(blocks(page)):
        if block.language == "console":
            for command in commands(block.text):
                printed, code = run(command, folder)
                assert code == command.code, f"$ {command.line}\n{printed}"
                if command.output:
                    assert agrees(command.output, printed), f"$ {command.line}\n{printed}"
        else:
            _write(block, number, folder)


def refreshed(page: str, folder: Path) -> str:
    """The page with what its commands print now; what agrees is left as it is written."""
    text = (ROOT / page).read_text(encoding="utf-8")
    behind = 0
    for number, block in enumerate(blocks(page)):
        behind = text.index(block.text, behind)
        if block.language == "console":
            printed = _printed(block.text, folder)
            text = text[:behind] + printed + text[behind + len(block.text) :]
            behind += len(printed)
        else:
            _write(block, number, folder)
            behind += len(block.text)
    return text


def _printed(text: str, folder: Path) -> str:
    lines: list[str] = []
    for command in commands(text):
        printed, code = run(command, folder)
        is_same = code == command.code and agrees(command.output, printed)
        output = command.output if is_same else printed
        lines += [f"$ {command.line}", *(each.rstrip() for each in output.splitlines())]
        lines += [f"exit {code}"] if code else []
    return "\n".join(lines) + "\n"


def _write(block: Block, number: int, folder: Path) -> None:
    file = folder / block.name
    match block.action:
        case "file":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        case "into":
            file.write_text(changed(file.read_text(encoding="utf-8"), block.text), encoding="utf-8")
        case _ if block.language == "python":
            script = folder / f"program_{number}.py"
            script.write_text(block.text, encoding="utf-8")
            done = program(str(script), folder)
            assert done.returncode == 0, done.stderr
        case _:
            pass


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with TemporaryDirectory() as folder:
            (ROOT / name).write_text(refreshed(name, Path(folder)), encoding="utf-8")
