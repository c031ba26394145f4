"""What is kept out of lines and records, and that looking for it takes no longer than reading."""

from __future__ import annotations

from itertools import product

import pytest

from tenuto.access import redaction
from tenuto.access.redaction import recorded, without_secrets
from tenuto.cli.views.masking import MASK, masked
from tenuto.model.secret_text import HIDDEN

PIECES = ("eyJ", "eyJa.", ".", "a", "-", "tnt_a", "_", "whsec_", "://", "/", "@", " ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bearer eyJhbGc.eyJzdWI.c2ln!", "Bearer …!"),
        ("unsigned: eyJhbGc.eyJzdWI.", "unsigned: …"),
        ("a.eyJhbGc.eyJzdWI.c2ln", "a.…"),
        ("token_eyJhbGc.eyJzdWI.c2ln", "…"),
        ("tnt_0a_secret and whsec_abc+/=", "… and …"),
        ("postgresql://me:pw@host/db", "postgresql://…@host/db"),
        ("eyJ.a.b, eyJa.b and www.example.com.", "eyJ.a.b, eyJa.b and www.example.com."),
    ],
)
def test_secrets_are_hidden_and_the_rest_is_not(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_looking_for_secrets_takes_no_longer_than_reading() -> None:
    """Where the time grew with the square of the text, one of these would take minutes."""
    for pair in product(PIECES, repeat=2):
        without_secrets("".join(pair) * 2_000)
    for text in ("eyJ" * 1_000_000, "eyJa" * 500_000 + "." + "b" * 500_000, "eyJ-" * 500_000 + "."):
        assert without_secrets(text) == text
    assert recorded({"reason": "eyJ" * 1_000_000}) == b'{"tooLarge":3000013}'


def test_a_value_too_large_to_be_recorded_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(_: object) -> None:
        pytest.fail("it was searched")

    monkeypatch.setattr(redaction, "without_secrets", searched)
    assert recorded([1] * 500_000) == b'{"tooLarge":1000001}'
    assert b"tooLarge" in (recorded({"name": "\ud800" * 100_000}) or b"")


@pytest.mark.parametrize(
    "name", ["pwd", "password", "API_KEY", "apiKey", "clientSecret", "Authorization", "privateKey"]
)
def test_a_field_that_the_audit_log_hides_is_hidden_on_terminals_too(name: str) -> None:
    assert without_secrets({name: "canary"}) == {name: HIDDEN}
    assert masked({name: "canary"}) == {name: MASK}
