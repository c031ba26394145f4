"""Settings that are tables: in a file by their names, in the environment as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.config.sources import read_config
from tenuto.model.errors import InvalidInput
from tenuto.model.host_limits import HostLimits, limits_of

FILE = """[engine]
threads = 3

[engine.private_networks]
acme = ["10.1.0.0/16", "erp.internal"]
"*" = ["192.168.7.0/24"]

[engine.host_limits."api.example.com"]
concurrency = 5

[engine.host_limits."*"]
rate_per_second = 2.5
"""


def test_a_table_of_a_file_is_read_with_the_names_that_a_user_chose(tmp_path: Path) -> None:
    file = tmp_path / "tenuto.toml"
    file.write_text(FILE)
    found = read_config({}, {}, file)
    engine = found.config.engine
    assert engine.threads == 3
    assert engine.private_networks == {
        "acme": ("10.1.0.0/16", "erp.internal"),
        "*": ("192.168.7.0/24",),
    }
    assert engine.host_limits == {
        "api.example.com": HostLimits(concurrency=5),
        "*": HostLimits(rate_per_second=2.5),
    }
    assert found.origins["engine.private_networks"] == f"{file}:4"


def test_a_table_of_the_environment_is_json() -> None:
    given = {"TENUTO_ENGINE_HOST_LIMITS": '{"*": {"concurrency": 7}}'}
    assert read_config({}, given).config.engine.host_limits == {"*": HostLimits(concurrency=7)}
    flags = {"engine.private_networks": '{"acme": ["10.0.0.0/8"]}'}
    assert read_config(flags, {}).config.engine.private_networks == {"acme": ("10.0.0.0/8",)}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("HOST_LIMITS", '{"*": {"concurency": 7}}', "unknown field `concurency`"),
        ("HOST_LIMITS", '{"*": {"concurrency": 0}}', ">= 1"),
        ("HOST_LIMITS", "{", "truncated"),
        ("PRIVATE_NETWORKS", '{"a": ["10.0.0.1/8"]}', "'10.0.0.1/8' is neither a host nor"),
        ("PRIVATE_NETWORKS", '{"a": "10.0.0.0/8"}', "expected an array"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_its_place(
    name: str, value: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_config({}, {f"TENUTO_ENGINE_{name}": value})
    [problem] = refused.value.problems
    assert (problem.code, problem.path) == ("TEN-2632", f"TENUTO_ENGINE_{name}")
    assert words in problem.message


def test_the_limits_of_a_host_are_those_of_its_longest_name() -> None:
    named = {
        "api.example.com": HostLimits(concurrency=1),
        "*.example.com": HostLimits(concurrency=2),
        "*.eu.example.com": HostLimits(concurrency=3),
        "*": HostLimits(concurrency=4),
    }
    hosts = ("api.example.com", "x.example.com", "x.eu.example.com", "example.com", "x.org")
    assert [limits_of(host, named).concurrency for host in hosts] == [1, 2, 3, 4, 4]
    assert limits_of("x.org", {}) == HostLimits()
