"""Keys of a file are followed while a process runs, and codecs are made of settings."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tenuto.cli.key_files import put_first
from tenuto.encryption.codec import NoKeys
from tenuto.encryption.envelope import key_id_of
from tenuto.encryption.errors import CannotOpen, EncryptionError
from tenuto.encryption.key_ring import KeyRing, keys_in, new_key
from tenuto.encryption.settings import EncryptionSettings
from tenuto.encryption.setup import follow_keys, made_codec
from tenuto.encryption.store import encrypt
from tenuto.model.errors import InvalidInput, StoreUnavailable
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.turns import MatchWrite, Turn
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.store.situations import NOON


class Reversed:
    """A codec of a program, which hides nothing: it writes backwards."""

    key_id = "mirror"

    def encrypt(self, plain: bytes, about: bytes) -> bytes:
        return (about + b"|" + plain)[::-1]

    def decrypt(self, key_id: str, encrypted: bytes, about: bytes) -> bytes:
        if key_id != self.key_id:
            raise KeyError(key_id)
        found, _, plain = encrypted[::-1].partition(b"|")
        if found != about:
            raise ValueError(found)
        return plain


class Half:
    """No codec: it cannot decrypt."""

    key_id = "half"

    def encrypt(self, plain: bytes, about: bytes) -> bytes:
        return plain + about


def test_a_new_key_of_the_file_decrypts_at_once_and_encrypts_later(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    put_first(file, new_key("one"))
    settings = EncryptionSettings(keys_file=str(file))
    codec = made_codec(settings)
    assert isinstance(codec, KeyRing)
    store = encrypt(MemoryStore(), codec)
    loop = VirtualLoop()
    clock = VirtualClock(loop, Wall())

    async def life() -> None:
        following = asyncio.ensure_future(follow_keys(store, settings, clock, every=5))
        await clock.sleep(6)
        put_first(file, new_key("two"))
        await clock.sleep(5)
        assert (codec.ids, codec.current) == (("one", "two"), "one")
        await clock.sleep(15)
        assert (codec.ids, codec.current) == (("two", "one"), "two")
        file.write_text("not a key")
        await clock.sleep(30)
        assert (codec.ids, codec.current) == (("two", "one"), "two")
        following.cancel()

    loop.run_until_complete(life())
    loop.close()


def test_a_file_of_keys_is_its_owners_alone_and_has_each_id_once(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    assert put_first(file, new_key("one")) == ["one"]
    assert put_first(file, new_key("two")) == ["two", "one"]
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput, match="'one'"):
        put_first(file, new_key("one"))
    assert [key.id for key in keys_in(file.read_text())] == ["two", "one"]


def test_without_settings_nothing_is_sealed() -> None:
    codec = made_codec(None)
    assert isinstance(codec, NoKeys)
    with pytest.raises(EncryptionError):
        codec.seal(b"x", b"i")
    with pytest.raises(CannotOpen, match="'one'"):
        codec.open(KeyRing([new_key("one")]).seal(b"x", b"i"), b"i")


def test_a_class_of_the_program_encrypts_instead() -> None:
    codec = made_codec(EncryptionSettings(codec=f"{__name__}:Reversed"))
    sealed = codec.seal(b"plain", b"i")
    assert key_id_of(sealed) == "mirror"
    assert codec.open(sealed, b"i") == b"plain"
    with pytest.raises(CannotOpen) as moved:
        codec.open(sealed, b"j")
    assert moved.value.code == "TEN-4123"
    Reversed.key_id = "another"
    try:
        with pytest.raises(CannotOpen, match="'mirror'"):
            codec.open(sealed, b"i")
    finally:
        Reversed.key_id = "mirror"


@pytest.mark.parametrize(
    "name", ["nothing", "no.such.module:Class", f"{__name__}:Absent", f"{__name__}:Half"]
)
def test_a_codec_that_cannot_be_used_is_refused(name: str) -> None:
    with pytest.raises(EncryptionError) as refused:
        made_codec(EncryptionSettings(codec=name))
    assert refused.value.code == "TEN-4125"


class Failing(Reversed):
    """A codec whose library raises errors of its own."""

    def encrypt(self, plain: bytes, about: bytes) -> bytes:
        raise RuntimeError(plain, about)

    def decrypt(self, key_id: str, encrypted: bytes, about: bytes) -> bytes:
        raise RuntimeError(key_id, encrypted, about)


def test_what_a_class_of_the_program_raises_is_about_one_value() -> None:
    codec = made_codec(EncryptionSettings(codec=f"{__name__}:Failing"))
    sealed = made_codec(EncryptionSettings(codec=f"{__name__}:Reversed")).seal(b"plain", b"i")
    with pytest.raises(CannotOpen) as closed:
        codec.open(sealed, b"i")
    assert closed.value.code == "TEN-4123"
    with pytest.raises(EncryptionError) as refused:
        codec.seal(b"plain", b"i")
    assert refused.value.code == "TEN-4125"
    assert refused.value.message == "the configured codec cannot encrypt: RuntimeError"


def test_a_codec_that_fails_during_a_commit_makes_the_store_unavailable() -> None:
    codec = made_codec(EncryptionSettings(codec=f"{__name__}:Failing"))
    mail = Mail(id="m", instance_id="i", input=b"plain", created_at=NOON, is_sealed=True)
    match = MatchWrite(event_id="e", mail=(mail,), deliveries=(), resumed=0, matched_at=NOON)
    turn = Turn(id="t", process_id="p", at=NOON, matches=(match,))
    with pytest.raises(StoreUnavailable) as refused:
        asyncio.run(encrypt(MemoryStore(), codec).turns.commit(turn))
    assert refused.value.code == "TEN-4125"
