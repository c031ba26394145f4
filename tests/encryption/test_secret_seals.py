"""Secrets are sealed with configured keys, else with a key beside the store, and rotated."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from tenuto import Tenuto
from tenuto.encryption.codec import NoKeys
from tenuto.encryption.envelope import key_id_of
from tenuto.encryption.errors import EncryptionError
from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.encryption.rotation import reencrypt, status
from tenuto.encryption.secret_seals import SecretSeals
from tenuto.encryption.settings import EncryptionSettings
from tenuto.encryption.values import Values
from tenuto.store.parts.inbox import Delivery
from tests.store.situations import begin, turn

VALUE = b"sk-live-51Hxyz"


def beside(path: Path, ring: KeyRing | None = None) -> SecretSeals:
    return SecretSeals(ring or NoKeys(), path, is_shared=False)


def test_a_store_in_a_file_gets_one_key_that_its_user_alone_reads(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    assert not list(tmp_path.iterdir())
    first, second = beside(store), beside(store)
    sealed = first.seal(VALUE, b"about")
    key = tmp_path / "a.db.key"
    assert list(tmp_path.iterdir()) == [key], "nothing else is left"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert VALUE not in sealed
    # Another process, or a later one, has the same key.
    assert second.open(sealed, b"about") == VALUE
    assert first.open(second.seal(VALUE, b"x"), b"x") == VALUE
    with pytest.raises(EncryptionError) as caught:
        second.open(sealed, b"another record")
    assert caught.value.code == "TEN-4123"


def test_configured_keys_come_first_and_the_key_of_the_store_still_opens(tmp_path: Path) -> None:
    store, ring = tmp_path / "a.db", KeyRing([new_key("k1")])
    old = beside(store).seal(VALUE, b"a")
    both = beside(store, ring)
    new = both.seal(VALUE, b"a")
    assert key_id_of(new) == "k1"
    assert (both.open(old, b"a"), both.open(new, b"a")) == (VALUE, VALUE)
    (tmp_path / "a.db.key").unlink()
    with pytest.raises(EncryptionError) as caught:
        beside(store, ring).open(old, b"a")
    assert caught.value.code == "TEN-4122"


def test_a_shared_store_needs_keys_and_a_store_in_memory_has_its_own(tmp_path: Path) -> None:
    shared = SecretSeals(NoKeys(), None, is_shared=True)
    with pytest.raises(EncryptionError) as caught:
        shared.seal(VALUE, b"a")
    assert caught.value.code == "TEN-4120"
    assert "tenuto encryption generate" in caught.value.advice
    memory = SecretSeals(NoKeys(), None, is_shared=False)
    assert memory.open(memory.seal(VALUE, b"a"), b"a") == VALUE
    assert not list(tmp_path.iterdir())


def test_a_key_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.db.key").mkdir()
    with pytest.raises(EncryptionError) as caught:
        beside(tmp_path / "a.db").seal(VALUE, b"a")
    assert caught.value.code == "TEN-4124"


@pytest.mark.asyncio
async def test_secrets_are_encrypted_again_with_the_current_key(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    async with Tenuto(url) as app:
        await app.secrets.put("KEY", VALUE.decode())
    async with Tenuto(url, encryption=EncryptionSettings(keys=new_key("k1").text)) as app:
        store = app.engine.store
        [before] = (await status(store)).by_key
        assert before.startswith("store-")
        report = await reencrypt(store)
        assert (report.by_key, report.resealed, report.unreadable) == ({"k1": 1}, 1, {})
        assert await app.engine.vault.value("default", "KEY", destination=None) == VALUE.decode()


@pytest.mark.asyncio
async def test_a_key_stays_in_use_while_values_change_under_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process, which encrypts with the old key, is faster each time."""
    old, new = new_key("old"), new_key("new")
    url = f"sqlite:///{tmp_path}/a.db"
    async with Tenuto(url, encryption=EncryptionSettings(keys=old.text)) as app:
        await app.secrets.put("KEY", VALUE.decode())
        await app.engine.store.sealed.use(["old"])
    both = EncryptionSettings(keys=f"{new.text},{old.text}")
    async with Tenuto(url, encryption=both) as app:
        store = app.engine.store

        async def overtaken(*_: object) -> int:
            return 0

        with monkeypatch.context() as patched:
            patched.setattr(store.sealed, "replace", overtaken)
            report = await reencrypt(store)
        assert report.by_key["old"] == 1
        assert await store.sealed.keys() == ["new", "old"]
        assert (await reencrypt(store)).by_key == {"new": 1}
        assert await store.sealed.keys() == ["new"]


@pytest.mark.asyncio
async def test_reasons_of_deliveries_are_encrypted_again(tmp_path: Path) -> None:
    old, new = new_key("old"), new_key("new")
    reason = Values(KeyRing([old])).sealed_text("it said so", b"i1")
    refused = Delivery("e1", "i1", "a", "", "refused", reason=reason)
    url = f"sqlite:///{tmp_path}/a.db"
    both = EncryptionSettings(keys=f"{new.text},{old.text}")
    async with Tenuto(url, encryption=both) as app:
        store = app.engine.store
        await store.turns.commit(turn("t1", replace(begin("i1"), deliveries=(refused,))))
        assert (await status(store)).by_key == {"old": 1}
        assert (await reencrypt(store)).by_key == {"new": 1}
    async with Tenuto(url, encryption=EncryptionSettings(keys=new.text)) as app:
        [found] = await app.engine.store.inbox.deliveries_to("i1")
        assert found.reason == "it said so"
