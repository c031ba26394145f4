"""What looks like a broken promise in a log, and is explained by what the simulator knows."""

from __future__ import annotations

from tenuto.testing.fault_plan import Fault
from tests.kit.checker import Run, Violation


def is_explained(broken: Violation, run: Run) -> bool:
    """Whether the fault and effect ledgers account for it."""
    return _is_measured(broken, run) or _never_ran(broken, run) or _is_held_up(broken, run)


def _is_measured(broken: Violation, run: Run) -> bool:
    """An attempt's time-out is time that passed, so a clock set back makes it look early."""
    shown = broken.excerpt[-1] if broken.excerpt else ""
    return (
        broken.invariant == "I19"
        and "NODE_FAILED" in shown
        and "'TIMEOUT'" in shown
        and any(fault["kind"] == Fault.CLOCK_BACK for fault in run.faults or ())
    )


def _never_ran(broken: Violation, run: Run) -> bool:
    """An attempt that was withdrawn before it ran has no grace to wait for."""
    if broken.invariant != "GRACE" or "is given up" not in broken.message:
        return False
    node, _, iteration = broken.message.split()[0].removesuffix("]").partition("[")
    return not any(
        effect["instance"] == broken.instance
        and (effect["node"], effect["iteration"]) == (node, iteration)
        for effect in run.effects or ()
    )


def _is_held_up(broken: Violation, run: Run) -> bool:
    """What waits to be undone once more waits for a clock that was set back to come there again."""
    if broken.invariant not in ("I28", "I29") or not broken.message.endswith("at rest"):
        return False
    [instance] = [each for each in run.instances if each.id == broken.instance]
    return instance.history[-1]["eventType"] == "RETRY_SCHEDULED" and any(
        fault["kind"] == Fault.CLOCK_BACK for fault in run.faults or ()
    )
