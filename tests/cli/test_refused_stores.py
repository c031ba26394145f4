"""A database that cannot be used is refused with what is wrong and what to do, and no password.

What a program is told and what the command line says is the same.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenuto import StoreUnavailable, Tenuto
from tenuto.model.errors import TenutoError
from tests.cli.conftest import DOUBLE, Terminal, one_of_each
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import GUARDED_ROLE, PostgresServer, running_server

pytestmark = pytest.mark.slow

PASSWORD = "s3cr3t-w0rd"

DAMAGE = {
    "of another program": "CREATE SCHEMA tenuto; CREATE TABLE tenuto.invoices (id int)",
    "newer": "UPDATE tenuto.schema_info SET version = 99, oldest_program = 99",
    "half there": "DROP TABLE tenuto.mailbox",
    "without its version": "DROP TABLE tenuto.schema_info",
    "closed": "CREATE ROLE closed LOGIN PASSWORD 's3cr3t-w0rd'; REVOKE ALL ON DATABASE closed FROM "
    "public; GRANT CONNECT ON DATABASE closed TO closed",
}
REFUSED = {
    # what is wrong → (URL, its code, what is said, what to run or to change)
    "another scheme": ("mysql://{user}@{host}/x", "TEN-4008", "is not a store", "postgresql://"),
    "no host": ("postgresql:///x?p={password}", "TEN-4008", "cannot be read", "host:5432/database"),
    "a schema's name": ("postgresql://{user}@{host}/x?schema=1st", "TEN-4008", "1st", "letters"),
    "nobody there": ("postgresql://{user}@127.0.0.1:1/x", "TEN-4008", "127.0.0.1:1", "Start the"),
    "wrong password": ("postgresql://{user}-x@{host}/postgres", "TEN-4009", "password", "Correct"),
    "no database": ("postgresql://{user}@{host}/nowhere", "TEN-4009", "nowhere", "createdb NAME"),
    "no rights": ("postgresql://closed:{password}@{host}/closed", "TEN-4004", "denies", "GRANT"),
    "of another program": ("postgresql://{user}@{host}/{name}", "TEN-4006", "invoices", "?schema="),
    "newer": ("postgresql://{user}@{host}/{name}", "TEN-4005", "newer", "Update Tenuto"),
    "half there": ("postgresql://{user}@{host}/{name}", "TEN-4006", "no mailbox", "DROP SCHEMA"),
    "without its version": ("postgresql://{user}@{host}/{name}", "TEN-4006", "half", "Restore"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_server() as made:
        asyncio.run(_prepare(made))
        yield made


async def _prepare(server: PostgresServer) -> None:
    """A role that has to give its password, and a database for each thing that may be wrong."""
    async with connected(server.url()) as connection:
        await connection.execute(
            f"CREATE ROLE {GUARDED_ROLE} LOGIN SUPERUSER PASSWORD '{PASSWORD}'"
        )
        for name in ("fine", *DAMAGE):
            await connection.execute(f'CREATE DATABASE "{name.replace(" ", "_")}"')
    for name in ("newer", "half there", "without its version"):
        async with Tenuto(server.url(name.replace(" ", "_"))):
            pass
    for name, statement in DAMAGE.items():
        async with connected(server.url(name.replace(" ", "_"))) as connection:
            await connection.execute(statement)


def told_in_python(url: str) -> TenutoError:
    async def main() -> None:
        async with Tenuto(url):
            pass

    with pytest.raises(StoreUnavailable) as refusal:
        asyncio.run(main())
    assert PASSWORD not in "".join(traceback.format_exception(refusal.value))
    return refusal.value


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_said_with_a_code_and_what_to_do(
    what: str, server: PostgresServer, tmp_path: Path
) -> None:
    form, code, said, advice = REFUSED[what]
    url = form.format(
        user=f"{GUARDED_ROLE}:{PASSWORD}",
        password=PASSWORD,
        host=f"127.0.0.1:{server.port}",
        name=what.replace(" ", "_"),
    )
    error = told_in_python(url)
    assert error.code == code, error
    assert said in error.message
    assert advice in error.advice
    assert "by itself" not in error.advice, "a command that ends does nothing by itself"
    terminal = Terminal(tmp_path, url)
    terminal.write("tasks.py", "")
    terminal.write("double.json", {"id": "double", **DOUBLE})
    for command in (["run", "double.json", "-i", "1"], ["migrate"]):
        ended = terminal.call(*command, "-o", "json")
        assert ended.code == 5, ended.err
        assert ended.json["error"] == {
            "code": code,
            "message": error.message,
            "advice": error.advice,
        }
        spoken = terminal.call(*command).err
        assert all(part in spoken for part in (code, f"tenuto explain {code}"))
        assert PASSWORD not in ended.out + ended.err + spoken


def test_no_command_ever_prints_the_password(server: PostgresServer, tmp_path: Path) -> None:
    host = f"127.0.0.1:{server.port}"
    fine = f"postgresql://{GUARDED_ROLE}:{PASSWORD}@{host}/fine"
    terminal = Terminal(tmp_path, fine)
    terminal.past(one_of_each)
    del terminal.environment["TENUTO_STORE"]
    for store, code in (
        (fine, 0),
        (fine.replace(PASSWORD, f"{PASSWORD}-x"), 5),
        (fine.replace("postgresql:", "postgresq:"), 5),
        (f"{fine}?schema=1", 5),
    ):
        for arguments in (
            ["list", "--status", "CREATED"],
            ["dead-letters", "list", "-o", "json"],
            ["show", "@last"],
            ["verify"],
            ["events", "send", "nothing"],
            ["migrate", "-o", "json"],
            ["migrate"],
        ):
            ended = terminal.call(*arguments, "--store", store)
            assert ended.code == code, ended.out + ended.err
            assert PASSWORD not in ended.out + ended.err
    going_on = ["run", "--instance", "@last", "--timeout", "0", "--tasks", "tasks.py"]
    ended = terminal.run(*going_on, "--store", fine)
    assert f"--store postgresql://{GUARDED_ROLE}@" in ended.err, ended.err
    assert PASSWORD not in ended.out + ended.err
