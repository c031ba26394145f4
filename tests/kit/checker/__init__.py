"""Judges a finished run from its histories alone, sharing no code with the engine.

from tests.kit.checker import Instance, Run, check

broken = check(Run(instances=[Instance(id=…, document=…, history=…)], events=…, effects=…))
assert not broken, "\\n".join(map(str, broken))
"""

from __future__ import annotations

from tests.kit.checker.judge import check, counted, violations
from tests.kit.checker.record import Instance, Run, instance_of, run_of
from tests.kit.checker.same_log import digest, normalised
from tests.kit.checker.violation import Violation

__all__ = [
    "Instance",
    "Run",
    "Violation",
    "check",
    "counted",
    "digest",
    "instance_of",
    "normalised",
    "run_of",
    "violations",
]
