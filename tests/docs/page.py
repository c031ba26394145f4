"""Does what a page says, from its top to its end, in a folder of its own.

A page that speaks of a database on `db.example` gets a PostgreSQL server of its own in its place.
A service of the page listens on a free port instead of the usual one.

`python -m tests.docs.page PAGE …` writes into pages what their commands print, where that differs.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.blocks import ROOT, Block, blocks, commands
from tests.docs.changing import changed
from tests.docs.console import Console, agrees, console, program
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import PostgresServer, running_server

HOST = "db.example"
DATABASE = "orders"
PORTS = ("8484", "8485")
"""The port of a service, and of a second one."""


class Here:
    """Where the page's server and its services are on this machine."""

    def __init__(self, server: PostgresServer | None) -> None:
        self._server = server
        here = {port: _free_port() for port in PORTS}
        self.settings = {"TENUTO_PORT": here[PORTS[0]]}
        self._real = here | ({HOST: f"127.0.0.1:{server.port}"} if server else {})

    def real(self, text: str) -> str:
        for written, real in self._real.items():
            text = text.replace(written, real)
        return text

    def written(self, text: str) -> str:
        for written, real in self._real.items():
            text = text.replace(real, written)
        return text

    def administer(self, statements: str) -> None:
        """Type statements: those about schemas into the page's database, the others beside it."""
        assert self._server is not None
        for each in filter(str.strip, statements.split(";\n")):
            database = DATABASE if "SCHEMA" in each else "postgres"
            asyncio.run(_execute(self._server, database, each))


@contextmanager
def surroundings(page: str) -> Iterator[Here]:
    """What a page takes for granted."""
    if HOST not in (ROOT / page).read_text(encoding="utf-8"):
        yield Here(None)
        return
    with running_server() as server:
        yield Here(server)


def follow(page: str, folder: Path) -> None:
    """Do all of it; AssertionError at the first thing that is not as the page says."""
    with surroundings(page) as here, console(folder, here.settings) as terminal:
        _follow(page, folder, here, terminal)


def _follow(page: str, folder: Path, here: Here, terminal: Console) -> None:
    for number, written in enumerate(blocks(page)):
        block = written._replace(text=here.real(written.text))
        if block.language == "sql":
            here.administer(block.text)
        elif block.language == "console":
            for command in commands(block.text):
                printed, code = terminal.run(command)
                assert code == command.code, f"$ {command.line}\n{printed}"
                if command.output:
                    assert agrees(command.output, printed), f"$ {command.line}\n{printed}"
        else:
            _write(block, number, folder)


def refreshed(page: str, folder: Path) -> str:
    """The page with what its commands print now; what agrees is left as it is written."""
    with surroundings(page) as here, console(folder, here.settings) as terminal:
        return _refreshed(page, folder, here, terminal)


def _refreshed(page: str, folder: Path, here: Here, terminal: Console) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    behind = 0
    for number, block in enumerate(blocks(page)):
        behind = text.index(block.text, behind)
        if block.language == "sql":
            here.administer(block.text)
        if block.language == "console":
            printed = here.written(_printed(here.real(block.text), terminal))
            text = text[:behind] + printed + text[behind + len(block.text) :]
            behind += len(printed)
        else:
            _write(block._replace(text=here.real(block.text)), number, folder)
            behind += len(block.text)
    return text


def _printed(text: str, terminal: Console) -> str:
    lines: list[str] = []
    for command in commands(text):
        printed, code = terminal.run(command)
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


def _free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


async def _execute(server: PostgresServer, database: str, statement: str) -> None:
    async with connected(server.url(database)) as connection:
        await connection.execute(statement)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with TemporaryDirectory() as folder:
            (ROOT / name).write_text(refreshed(name, Path(folder)), encoding="utf-8")
