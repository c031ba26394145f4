"""Which store a URL names, and what is loaded for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tenuto import StoreUnavailable, Tenuto
from tenuto.cli.backends.reader import listen_url, store_flag
from tenuto.compose import open_store, without_password
from tenuto.store.memory import MemoryStore
from tenuto.store.postgres import PostgresStore
from tenuto.store.sqlite import SqliteStore

SECRET = "s3cr3t-w0rd"
POOLER = f"postgresql://ada:{SECRET}@pooler.example:6432/orders"
SERVER = f"postgresql://ada:{SECRET}@db.example/orders"


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        (None, MemoryStore),
        ("memory://", MemoryStore),
        ("sqlite:///orders.db", SqliteStore),
        ("postgresql://ada@db.example/orders", PostgresStore),
        ("postgres://ada@db.example/orders?schema=flows", PostgresStore),
    ],
)
def test_a_url_names_the_kind_of_store(url: str | None, kind: type) -> None:
    assert isinstance(open_store(url), kind)


def test_a_url_that_names_no_store_is_told_both_kinds_there_are() -> None:
    with pytest.raises(StoreUnavailable) as refusal:
        open_store(f"mysql://ada:{SECRET}@db/orders?password={SECRET}")
    assert refusal.value.code == "TEN-4008"
    assert all(kind in refusal.value.advice for kind in ("sqlite:///FILE", "postgresql://"))
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///a@b.db", "sqlite:///a@b.db"),
        (f"postgres://ada:{SECRET}@db/x?schema=flows", "postgresql://ada@db/x?schema=flows"),
        (f"mysql://ada:{SECRET}@db/x", "mysql://…@db/x"),
        (f"mysql://ada:{SECRET}/@db/x", "mysql://…@db/x"),
        (f"mysql://db/x?password={SECRET}&a=b", "mysql://db/x?password=…&a=b"),
        (f"mysql://ada:{SECRET}@db/x?PASSWORD={SECRET}", "mysql://…@db/x?PASSWORD=…"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_behind_a_pooler_another_server_is_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Tenuto(POOLER, listen_url=SERVER)
    assert isinstance(app.engine.store, PostgresStore)
    assert app.engine.store._database._listen_address.shown == "postgresql://ada@db.example/orders"
    monkeypatch.setenv("TENUTO_LISTEN_URL", SERVER)
    assert listen_url(POOLER) == SERVER
    assert listen_url("sqlite:///orders.db") is None
    with pytest.raises(StoreUnavailable, match="nothing to listen to"):
        Tenuto("sqlite:///orders.db", listen_url=SERVER)


def test_what_is_to_be_typed_again_names_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENUTO_STORE", SERVER)
    assert store_flag(SERVER) == ""
    assert store_flag(POOLER) == " --store postgresql://ada@pooler.example:6432/orders"


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ("sslmode=require&schema=flows", "?sslmode=require&schema=flows"),
        (f"password={SECRET}&sslmode=require", "?sslmode=require"),
        (f"sslpassword={SECRET}&sslkey=/k&passfile=/p", "?sslkey=/k&passfile=/p"),
        (f"PASSWORD={SECRET}&pwd={SECRET}&my.key={SECRET}", ""),
        ("host=a,b&application_name=the%20orders", "?host=a,b&application_name=the+orders"),
    ],
)
def test_what_is_to_be_typed_again_has_the_options_of_the_url(options: str, typed: str) -> None:
    flag = store_flag(f"postgres://ada:{SECRET}@db/orders?{options}")
    url = f"postgresql://ada@db/orders{typed}"
    assert flag == (f" --store '{url}'" if typed else f" --store {url}")


def test_no_driver_is_loaded_that_is_not_used() -> None:
    program = """
import sys, tenuto, tenuto.cli.program
tenuto.cli.program.program()
assert not {"apsw", "asyncpg"} & sys.modules.keys()
tenuto.Tenuto()
tenuto.Tenuto("sqlite:///unused.db")
assert "asyncpg" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
