"""Large JSON is decoded in pieces: the same values and errors as in one call."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tenuto.api.problems import Refusal
from tenuto.api.request_parser import read_json
from tenuto.model import large_json
from tenuto.model.json import JSON
from tenuto.model.large_json import PIECE, decode, decode_strictly
from tests.kit.breadth import breadth

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["],[", "},{", '",', '\\",', '"', "a,b", "\\\\", "{", "\x7f"])
)
_VALUES: st.SearchStrategy[JSON] = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=30,
)
_SPACES = ((",", ":"), (", ", ": "), (" ,\n", " :\t"))
_INSERTED = (
    *(b",", b"]", b"}", b"[", b"{", b'"', b"\\", b":", b" ", b"1", b"-", b"null", b"\xff", b"\x00"),
    *(b'"a":1,', b"\\ud800", b"e999", b"9" * 5_000),
)


def _text_of(value: JSON, random: Random) -> bytes:
    """The value as one of its texts."""
    is_ascii, spaces = random.random() < 0.5, random.choice(_SPACES)
    text = json.dumps(value, ensure_ascii=is_ascii, separators=spaces)
    return text.encode("utf-8", "surrogatepass")


def _damaged(text: bytes, random: Random) -> bytes:
    """The text without a byte, with others, cut off, or without a part."""
    at = random.randrange(len(text))
    match random.randrange(4):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + random.choice(_INSERTED) + text[at:]
        case 2:
            return text[:at]
        case _:
            return text[:at] + text[random.randrange(len(text)) :]


def _outcome(decoded: Callable[[], JSON]) -> str:
    try:
        return repr(decoded())
    except UnicodeDecodeError:
        return "not UTF-8"
    except RecursionError:
        return "deep"
    except msgspec.DecodeError as error:
        return f"{type(error).__name__}: {error}"


def _keys_there_twice(text: bytes) -> set[str]:
    found: set[str] = set()

    def look(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        keys = [key for key, _ in pairs]
        found.update(key for key in keys if keys.count(key) > 1)
        return dict(pairs)

    json.loads(text, object_pairs_hook=look)
    return found


@settings(
    max_examples=breadth(150, 20_000),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(_VALUES, st.randoms(use_true_random=False), st.integers(3, 40))
def test_what_is_decoded_in_pieces_is_what_one_call_decodes(
    value: JSON, random: Random, piece: int
) -> None:
    text = _text_of(value, random)
    for _ in range(4):
        expected = _outcome(lambda text=text: msgspec.json.decode(text))  # type: ignore[misc]
        found = _outcome(lambda text=text: decode(text, piece))  # type: ignore[misc]
        # A text with two faults, the second of which is its end, may be refused for either.
        is_either = expected.startswith("Validation") and found.endswith("truncated")
        assert found == expected or is_either, (text, piece)
        if not expected.startswith(("DecodeError", "Validation", "not UTF-8", "deep")):
            twice, key = _keys_there_twice(text), decode_strictly(text, piece)[1]
            assert key in twice if twice else key is None, (text, piece)
        if not text:
            break
        text = _damaged(text, random)


def _nested(depth: int) -> JSON:
    value: JSON = [0] * 40
    for _ in range(depth):
        value = [1, value, {"a": value}] if depth < 12 else [1, value]
    return value


SIZE = large_json.LARGE
"""Texts with more bytes are decoded in pieces."""
LARGE: dict[str, JSON] = {
    "numbers": [1] * (SIZE * 4),
    "floats": [0.125] * SIZE,
    "keys": {f"k{number}": number for number in range(SIZE // 4)},
    "empty objects": [{} for _ in range(SIZE * 2)],
    "texts": ["x"] * SIZE,
    "texts like structure": ['],[},{",1'] * (SIZE // 2),
    "one text": "x" * SIZE * 8,
    "escapes": '\x01\\"\u2028' * SIZE,
    "a long number": [int("9" * 4_000)] * 100,
    "objects": [{"a": number, "b": ["c, d", {}]} for number in range(SIZE // 4)],
    "arrays of arrays": {f"k{n}": [list(range(50)) for _ in range(9)] for n in range(200)},
    "deep": _nested(90),
    "bushy": _nested(11),
}


@pytest.mark.parametrize("name", LARGE)
def test_no_call_of_the_decoder_gets_more_than_a_piece(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call keeps Python's lock, and other threads wait; one text or number is in one call."""
    value = {"input": LARGE[name]}
    text, sizes = msgspec.json.encode(value), list[int]()

    def decoding(piece: bytes) -> JSON:
        sizes.append(len(piece))
        found: JSON = msgspec.json.decode(piece)
        return found

    monkeypatch.setattr(large_json, "_decode", decoding)
    assert decode_strictly(text) == (value, None)
    most = len(text) if name in {"one text", "escapes"} else PIECE + 2
    assert max(sizes) <= most
    assert sum(sizes) < 4 * len(text), "failed guesses are few"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"a":[' + b"1," * SIZE + b"1]]", "expected ',' or '}'"),
        (b'{"a":[' + b"1," * SIZE + b"]}", "trailing comma in array"),
        (b'{"a":[' + b"1," * SIZE, "truncated"),
        (b"[1," + b" " * SIZE * 2, "truncated"),
        (b"[1" + b" " * SIZE * 2 + b"2]", "expected ',' or ']'"),
        (b'{"a":["' + b"x" * SIZE * 2, "truncated"),
        (b"[" * SIZE * 2, "nested more than 100 deep"),
        (b"[" * 150 + b"1," * SIZE + b"1" + b"]" * 150, "nested more than 100 deep"),
        (b'{"a":[' + b"1," * SIZE + b'1],"b":0,"a":1}', 'the key "a" is there twice'),
        (b'{"\\u0061":1,"b":[' + b"1," * SIZE + b'1],"a":1}', 'the key "a" is there twice'),
        (b'{"a":["' + b"x" * SIZE * 2 + b'\xff"]}', "not UTF-8"),
    ],
)
def test_a_large_body_that_is_no_json_is_refused_as_a_small_one_is(
    text: bytes, problem: str
) -> None:
    with pytest.raises(Refusal, match=problem.replace('"', ".")):
        read_json(text)
