"""Writes `requirements/constraints.txt`: the tested version of every dependency at run time.

They are the pins of `requirements/dev.txt`, without hashes and without what only development needs.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.source_tree import ROOT

_PIN = re.compile(
    r"(?P<name>[a-z0-9.-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\\n]+?))?(?: \\)?$"
)
_HEAD = """\
# The versions that Tenuto is tested with: pip install --constraint constraints.txt tenuto
# Made from requirements/dev.txt by `python -m tests.supply.constraints`.
"""


def pins() -> dict[str, str]:
    """What development is pinned to: a line for each package, without hashes."""
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for line in text.splitlines():
        if (pin := _PIN.match(line)) is not None:
            marker = f" ; {pin['marker']}" if pin["marker"] else ""
            found[pin["name"]] = f"{pin['name']}=={pin['version']}{marker}"
    return found


def at_run_time(
    extras: frozenset[str] = frozenset({"otel"}), roots: tuple[str, ...] = ("tenuto",)
) -> set[str]:
    """Tenuto's dependencies and theirs, on whatever platform."""
    found: set[str] = set()
    waiting = [(each, extras) for each in roots]
    while waiting:
        name, wanted = waiting.pop()
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            # Of another platform.
            continue
        for each in map(Requirement, required):
            if not _is_wanted(each, wanted):
                continue
            needed = canonicalize_name(each.name)
            if needed not in found or each.extras:
                found.add(needed)
                waiting.append((needed, frozenset(each.extras)))
    return found


def _is_wanted(requirement: Requirement, extras: frozenset[str]) -> bool:
    """Whether it is required with these extras, on some platform that is pinned."""
    if requirement.marker is None:
        return True
    named = set(re.findall(r"extra == ['\"]([\w-]+)['\"]", str(requirement.marker)))
    if named and not named & extras:
        return False
    return requirement.marker.evaluate({"extra": next(iter(named & extras), "")}) or (
        canonicalize_name(requirement.name) in pins()
    )


def constraints() -> str:
    known = pins()
    return _HEAD + "".join(f"{known[name]}\n" for name in sorted(at_run_time()))


if __name__ == "__main__":
    sys.stdout.write(constraints())
