"""Flags before environment before file before defaults; and everything wrong at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from tenuto.config.config import Config
from tenuto.config.names import settings
from tenuto.config.sources import read_config
from tenuto.engine.bounds import Bounds
from tenuto.engine.settings import Settings
from tenuto.model.errors import InvalidInput, NotFound
from tenuto.model.load import OverloadBounds
from tenuto.model.policy import Limits, RetryPolicy
from tenuto.model.quotas import Quotas

TABLE = [
    # flag, environment, file -> value, who says so
    (9, "8", 7, 9, "--port"),
    (None, "8", 7, 8, "TENUTO_PORT"),
    (None, None, 7, 7, "tenuto.toml:1"),
    (None, None, None, 8484, "default"),
    (9, None, 7, 9, "--port"),
    (9, "8", None, 9, "--port"),
    (None, "8", None, 8, "TENUTO_PORT"),
    (9, None, None, 9, "--port"),
]


@pytest.mark.parametrize("row", TABLE)
def test_flags_go_before_environment_before_file_before_defaults(
    tmp_path: Path, row: tuple[int | None, str | None, int | None, int, str]
) -> None:
    flag, variable, file, value, origin = row
    if file is not None:
        (tmp_path / "tenuto.toml").write_text(f"port = {file}\n")
    environment = {} if variable is None else {"TENUTO_PORT": variable}
    found = read_config({"port": flag}, environment, folder=tmp_path)
    assert found.config.port == value
    assert found.origins["port"].removeprefix(f"{tmp_path}/") == origin


def test_every_setting_of_the_engine_can_be_reached() -> None:
    names = set(settings())
    for kind, prefix in (
        (Settings, "engine."),
        (Limits, "engine.limits."),
        (Quotas, "engine.quotas."),
        (RetryPolicy, "engine.retry."),
        (Bounds, "engine.bounds."),
        (OverloadBounds, "engine.overload."),
    ):
        for field in structs.fields(kind):
            if field.name not in ("limits", "quotas", "retry", "bounds", "overload"):
                assert prefix + field.name in names
    assert len({each.variable for each in settings().values()}) == len(names)


def test_values_are_read_for_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "tenuto.toml").write_text(
        'allow_host = ["a.example", "b.example"]\n[engine]\nprivate_webhooks = true\n'
        '[engine.retry]\ninitial_delay = "PT5S"\n'
    )
    environment = {
        "TENUTO_ENGINE_LIMITS_INPUT_BYTES": "5000",
        "TENUTO_ALLOW_ORIGIN": "https://a.example, https://b.example",
        "TENUTO_ENGINE_INSTANCE_RETENTION": "60.5",
        "TENUTO_RATE_LIMIT": "",
        "TENUTO_SOMETHING_ELSE": "is nobody's business",
        "PATH": "/bin",
    }
    found = read_config({"engine.jobs_every": "7"}, environment, folder=tmp_path)
    config = found.config
    assert config.allow_host == ("a.example", "b.example")
    assert config.allow_origin == ("https://a.example", "https://b.example")
    assert config.rate_limit is None
    assert config.engine.private_webhooks is True
    assert config.engine.retry.initial_delay.total_seconds() == 5
    assert config.engine.limits.input_bytes == 5000
    assert config.engine.instance_retention == 60.5
    assert config.engine.jobs_every == 7
    assert config.engine.unknown_tasks == "wait", "what nobody names stays as it is for services"
    assert found.origins["engine.retry.initial_delay"].endswith("tenuto.toml:5")


def test_all_that_is_wrong_is_said_at_once_and_where(tmp_path: Path) -> None:
    path = tmp_path / "tenuto.toml"
    path.write_text('prot = 1\nport = "hunter2"\n[engine]\nmail_evry = 2\n[engine.limits]\nx = 1\n')
    environment = {
        "TENUTO_LOG_FORMAT": "xml",
        "TENUTO_ENGINE_MAIL_EVRY": "1",
        "TENUTO_OIDC_ISSUER": "https://issuer.example",
    }
    with pytest.raises(InvalidInput) as caught:
        read_config({"engine.prune_every": "often"}, environment, folder=tmp_path)
    places = [each.path.removeprefix(f"{tmp_path}/") for each in caught.value.problems]
    assert places == [
        "tenuto.toml:1",
        "tenuto.toml:2",
        "tenuto.toml:4",
        "tenuto.toml:6",
        "TENUTO_LOG_FORMAT",
        "TENUTO_ENGINE_MAIL_EVRY",
        "--set engine.prune_every",
        "oidc_audience",
    ]
    said = " ".join(f"{each.message} {each.advice}" for each in caught.value.problems)
    assert "Did you mean port?" in said
    assert "Did you mean engine.mail_every?" in said
    assert "Did you mean TENUTO_ENGINE_MAIL_EVERY?" in said
    assert "hunter2" not in said


def test_a_file_that_is_no_toml_or_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("port = \n")
    with pytest.raises(InvalidInput) as caught:
        read_config({}, {}, tmp_path / "bad.toml")
    assert "line 1" in caught.value.problems[0].message
    with pytest.raises(NotFound):
        read_config({}, {}, tmp_path / "none.toml")


def test_without_anything_all_is_as_by_default(tmp_path: Path) -> None:
    found = read_config({}, {}, folder=tmp_path)
    assert found.config == Config()
    assert set(found.origins.values()) == {"default"}
