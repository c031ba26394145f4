"""Writes a software bill of materials: the components of an installation at run time, CycloneDX."""

from __future__ import annotations

import json
import sys
from importlib import metadata

from tenuto.model.json import Object
from tests.supply.constraints import at_run_time


def bill() -> Object:
    """The installed version of each component, and its licence."""
    components: list[Object] = []
    for name in sorted(at_run_time()):
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            # Of another platform.
            continue
        components.append(_component(name, found, "library"))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": _component("tenuto", metadata.distribution("tenuto"), "application")
        },
        "components": list(components),
    }


def _component(name: str, found: metadata.Distribution, kind: str) -> Object:
    reference = f"pkg:pypi/{name}@{found.version}"
    component: Object = {
        "type": kind,
        "bom-ref": reference,
        "name": name,
        "version": found.version,
        "purl": reference,
    }
    if "License-Expression" in found.metadata:
        component["licenses"] = [{"expression": found.metadata["License-Expression"]}]
    return component


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=2)
    sys.stdout.write("\n")
