"""Keys by id: values are sealed for one record, and opened for no other."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from tenuto.encryption.envelope import is_sealed, key_id_of
from tenuto.encryption.errors import CannotOpen, EncryptionError
from tenuto.encryption.key_ring import KEY_BYTES, Key, KeyRing, keys_in, new_key
from tenuto.model.errors import InvalidInput
from tests.kit.breadth import breadth

RING = KeyRing([new_key("new"), new_key("old")])
_EXAMPLES = breadth(60, 3_000)


@given(plain=st.binary(max_size=2_000), about=st.binary(max_size=60))
@hypothesis_settings(max_examples=_EXAMPLES, deadline=None)
def test_what_is_sealed_opens_again(plain: bytes, about: bytes) -> None:
    sealed = RING.seal(plain, about)
    assert is_sealed(sealed)
    assert key_id_of(sealed) == "new"
    assert RING.open(sealed, about) == plain


@given(plain=st.binary(max_size=200), data=st.data())
@hypothesis_settings(max_examples=_EXAMPLES, deadline=None)
def test_a_changed_byte_is_refused(plain: bytes, data: st.DataObject) -> None:
    sealed = bytearray(RING.seal(plain, b"instance"))
    place = data.draw(st.integers(0, len(sealed) - 1))
    sealed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CannotOpen):
        RING.open(bytes(sealed), b"instance")


@given(plain=st.binary(max_size=200), length=st.integers(0, 300))
@hypothesis_settings(max_examples=_EXAMPLES, deadline=None)
def test_a_cut_value_is_refused(plain: bytes, length: int) -> None:
    sealed = RING.seal(plain, b"instance")
    with pytest.raises(CannotOpen):
        RING.open(sealed[: min(length, len(sealed) - 1)], b"instance")


@given(one=st.binary(max_size=40), other=st.binary(max_size=40))
@hypothesis_settings(max_examples=_EXAMPLES, deadline=None)
def test_a_value_of_another_record_is_refused(one: bytes, other: bytes) -> None:
    if one != other:
        with pytest.raises(CannotOpen) as refused:
            RING.open(RING.seal(b"{}", one), other)
        assert refused.value.code == "TEN-4123"


def test_equal_values_are_sealed_differently() -> None:
    assert RING.seal(b"{}", b"i") != RING.seal(b"{}", b"i")


def test_every_key_opens_and_the_first_seals() -> None:
    old = KeyRing([new_key("a")])
    key = old._secrets["a"]
    sealed = old.seal(b"kept", b"i")
    rotated = KeyRing([new_key("b"), Key(id="a", secret=key)])
    assert rotated.open(sealed, b"i") == b"kept"
    assert key_id_of(rotated.seal(b"kept", b"i")) == "b"


def test_a_missing_key_is_named() -> None:
    sealed = KeyRing([new_key("lost")]).seal(b"x", b"i")
    with pytest.raises(CannotOpen, match="'lost'") as refused:
        RING.open(sealed, b"i")
    assert (refused.value.code, refused.value.key_id) == ("TEN-4122", "lost")


def test_another_key_with_the_same_id_is_an_error() -> None:
    sealed = KeyRing([new_key("new")]).seal(b"x", b"i")
    with pytest.raises(CannotOpen) as refused:
        RING.open(sealed, b"i")
    assert refused.value.code == "TEN-4123"


def test_nothing_is_sealed_without_keys() -> None:
    with pytest.raises(EncryptionError) as refused:
        KeyRing().seal(b"x", b"i")
    assert refused.value.code == "TEN-4120"


def test_a_ring_is_read_from_text() -> None:
    one, two = new_key("2026-11"), new_key("2026-05")
    text = f"# the present one\n{one.text},\n{two.text}  # until all is encrypted again\n"
    assert keys_in(text) == [one, two]
    assert KeyRing.of(text).ids == ("2026-11", "2026-05")


def test_all_problems_of_keys_are_listed_and_none_shows_a_key() -> None:
    secret = base64.b64encode(bytes(KEY_BYTES)).decode()
    short = base64.b64encode(b"canary-of-a-key").decode()
    text = f"{secret},a:{short},a:{secret},a:{secret},sp*ce:{secret}"
    with pytest.raises(InvalidInput) as refused:
        keys_in(text)
    said = str(refused.value)
    assert [problem.path for problem in refused.value.problems] == [
        "encryption.keys[0]",
        "encryption.keys[1]",
        "encryption.keys[3]",
        "encryption.keys[4]",
    ]
    assert secret not in said
    assert short not in said


def test_no_key_is_shown() -> None:
    key = new_key("a")
    text = base64.b64encode(key.secret).decode()
    assert text not in repr(key)
    assert text not in repr(KeyRing([key]))
