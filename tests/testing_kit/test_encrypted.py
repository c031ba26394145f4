"""A definition that asks for encryption runs in the test kit, without any key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenuto.testing import Engine, crash_test
from tests.testing_kit.shop import APPROVED, ORDER, Json

ENCRYPTED: Json = {**APPROVED, "options": {"encrypt": True}}


def test_an_encrypted_workflow_is_tested_like_any_other(engine: Engine) -> None:
    run = engine.start(ENCRYPTED, ORDER).until(waiting_for="approval.given")
    published = engine.publish("approval.given", {"by": "ada"})
    assert published is not None
    assert published.resumed == 1
    assert run.path == ["reserve", "charge", "approval", "ship"]
    assert run.status == "COMPLETED"


@pytest.mark.slow
def test_an_encrypted_workflow_survives_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    crash_test(ENCRYPTED, input=ORDER, events=["approval.given"], runs=20)
