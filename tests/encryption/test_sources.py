"""The sources of keys: a text, a file, a command."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tenuto.encryption.errors import EncryptionError
from tenuto.encryption.key_ring import new_key
from tenuto.encryption.settings import EncryptionSettings
from tenuto.encryption.sources import read_keys
from tenuto.model.errors import InvalidInput


def test_keys_are_read_from_each_source(tmp_path: Path) -> None:
    keys = [new_key("one"), new_key("two")]
    text = "\n".join(key.text for key in keys)
    file = tmp_path / "keys"
    file.write_text(text)
    command = shlex.join([sys.executable, "-c", f"print({text!r})"])
    assert read_keys(EncryptionSettings()) == []
    assert read_keys(EncryptionSettings(keys=text)) == keys
    assert read_keys(EncryptionSettings(keys_file=str(file))) == keys
    assert read_keys(EncryptionSettings(keys_command=command)) == keys


@pytest.mark.parametrize(
    "settings",
    [
        EncryptionSettings(keys_file="/nowhere/keys"),
        EncryptionSettings(keys_command="/nowhere/keys"),
        EncryptionSettings(keys_command="'"),
        EncryptionSettings(keys_command=""),
        EncryptionSettings(keys_command="false"),
        EncryptionSettings(keys_command="true"),
        EncryptionSettings(keys_file="/dev/null"),
    ],
)
def test_a_source_without_keys_is_an_error(settings: EncryptionSettings) -> None:
    with pytest.raises(EncryptionError) as refused:
        read_keys(settings)
    assert refused.value.code == "TEN-4124"


def test_two_sources_are_an_error() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_keys(EncryptionSettings(keys="a:b", keys_file="keys"))
    assert refused.value.problems[0].path == "encryption.keys, encryption.keys_file"
