"""The files for containers name what there is: commands, settings, ports, files, pinned images."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tenuto.api.registry import OPERATIONS
from tenuto.config.config import Config
from tenuto.config.names import settings
from tests.architecture.source_tree import ROOT
from tests.cli.manual import commands

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, each in SERVICES.items() if "build" in each]
VARIABLES = {each.variable for each in settings().values()} | {"TENUTO_SERVER", "TENUTO_KEY"}

_PINNED = re.compile(r"[a-z]+:\d+\.\d+(?:\.\d+)?-[a-z-]+")
_GIVEN = re.compile(r"\$\{[A-Z_]+:\?[^}]+\}")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile: instruction and rest, with continued lines joined."""
    text = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(name, rest) for name, rest in lines]


def stages() -> dict[str, list[tuple[str, str]]]:
    """Each stage by its name, with the instructions behind its FROM."""
    found: dict[str, list[tuple[str, str]]] = {}
    name = ""
    for instruction, rest in instructions():
        if instruction == "FROM":
            source, _, name = rest.partition(" AS ")
            found[name] = [("FROM", source)]
        else:
            found[name].append((instruction, rest))
    return found


def test_every_image_from_elsewhere_is_pinned() -> None:
    made = stages()
    sources = [rest for each in made.values() for name, rest in each if name == "FROM"]
    named = [each for each in sources if each not in made]
    images = [each["image"] for name, each in SERVICES.items() if name not in OURS]
    assert [each for each in [*named, *images] if not _PINNED.fullmatch(each)] == []


@pytest.mark.parametrize("stage", ["service", "worker"])
def test_an_image_runs_as_a_user_without_rights_and_begins_with_a_command(stage: str) -> None:
    inside = dict(stages()[stage])
    assert inside["USER"] == "tenuto"
    assert inside["ENTRYPOINT"] == '["tenuto"]'
    assert yaml.safe_load(inside["CMD"])[0] in commands()


def test_the_service_is_the_last_stage_and_is_asked_for_its_health() -> None:
    name, inside = list(stages().items())[-1]
    assert name == "service"
    said = dict(inside)
    path = re.search(r"'(/health/\w+)'", said["HEALTHCHECK"])
    assert path is not None
    assert path[1] in {each.path for each in OPERATIONS}
    assert said["EXPOSE"] == str(Config().port)


def test_every_variable_is_a_setting() -> None:
    named = set(re.findall(r"\b(TENUTO_\w+)=", DOCKERFILE))
    for name in OURS:
        named |= {each for each in SERVICES[name]["environment"] if each.startswith("TENUTO_")}
    assert {"TENUTO_STORE", "TENUTO_SERVER", "TENUTO_ENGINE_NOTES_FOLDER"} <= named
    assert named - VARIABLES == set()


def test_everything_that_is_installed_is_pinned_or_our_own() -> None:
    runs = " && ".join(rest for name, rest in instructions() if name == "RUN")
    installs = re.findall(r"pip install ([^&]+)", runs)
    assert len(installs) == 5
    for each in installs:
        assert each.startswith("--no-deps ")
        assert "--require-hashes --requirement" in each or "/dist/*.whl" in each
    removed = re.search(r"pip uninstall --yes (hatchling [^&]+?) pip", runs)
    assert removed is not None
    pinned = (ROOT / "requirements" / name for name in ("run.txt", "ui.txt"))
    pins = "".join(each.read_text(encoding="utf-8") for each in pinned)
    assert all(re.search(rf"^{each}==", pins, re.MULTILINE) for each in removed[1].split())


def test_what_is_copied_exists_and_is_sent_to_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {each.removeprefix("!") for each in ignored if each.startswith("!")}
    for instruction, rest in instructions():
        if instruction == "COPY" and "--from=" not in rest:
            for name in rest.split()[:-1]:
                assert (ROOT / name).exists(), name
                assert name.partition("/")[0] in sent, name


@pytest.mark.parametrize("name", OURS)
def test_every_service_names_a_stage_commands_files_and_services_that_exist(name: str) -> None:
    service = SERVICES[name]
    assert service["build"]["target"] in stages()
    for other, condition in service["depends_on"].items():
        assert other in SERVICES
        healthy = condition["condition"] == "service_healthy"
        assert not healthy or "healthcheck" in SERVICES[other] or other.startswith("service-")
    command = service.get("command", ["serve"])
    assert command[0] in commands()
    folders = dict(each.split(":")[:2] for each in service.get("volumes", []))
    assert all(each in COMPOSE["volumes"] or (ROOT / each).is_dir() for each in folders)
    assert all((ROOT / next(iter(folders)) / file).is_file() for file in command[1:])


def test_services_are_reached_on_loopback_and_under_the_names_that_they_accept() -> None:
    port = str(Config().port)
    for name in ("service-a", "service-b"):
        [published] = SERVICES[name]["ports"]
        assert published.startswith("127.0.0.1:")
        assert published.endswith(f":{port}")
        accepted = SERVICES[name]["environment"]["TENUTO_ALLOW_HOST"].split()
        assert {"127.0.0.1", "service-a", "service-b"} <= set(accepted)
    servers = SERVICES["worker"]["environment"]["TENUTO_SERVER"]
    assert servers == ",".join(f"http://{each}:{port}" for each in ("service-a", "service-b"))


def test_secrets_come_from_the_environment_alone() -> None:
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if name in {"POSTGRES_PASSWORD", "TENUTO_ADMIN_KEY", "TENUTO_KEY", "TENUTO_STORE"}:
                assert _GIVEN.search(value), name
