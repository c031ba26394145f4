"""The text of a document is strict JSON, and a refusal says where it is not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from tenuto.definition import parse_document
from tenuto.model.errors import InvalidDefinition


def refused(text: bytes | str) -> list[tuple[str, str]]:
    with pytest.raises(InvalidDefinition) as raised:
        parse_document(text, "flow.json")
    return [(each.code, each.message) for each in raised.value.problems]


def test_json_is_read() -> None:
    assert parse_document(b'\xef\xbb\xbf{"a": [1, 2.5, "\\u00e9", null]}', "f") == {
        "a": [1, 2.5, "é", None]
    }
    assert parse_document('{"big": 12345678901234567890123}', "f") == {
        "big": 12345678901234567890123
    }


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (b'{\n  "a": ,\n}', "TEN-1001", "flow.json:2:8"),
        (b"", "TEN-1001", "flow.json:1:1"),
        (b"{} {}", "TEN-1001", "flow.json:1:4"),
        (b'{"a": 1,\n "b": {"c": 1, "c": 2}}', "TEN-1002", "flow.json:2:16"),
        (b'{"a": 1, "\\u0061": 2}', "TEN-1002", "flow.json:1:10"),
        (b"[\n NaN]", "TEN-1003", "flow.json:2:2"),
        (b"[-Infinity]", "TEN-1003", "flow.json:1:2"),
        (b"[1, 1e999]", "TEN-1003", "flow.json:1:5"),
        (b'["\\u0000"]', "TEN-1003", "flow.json:1:2"),
        (b'{"k": "\\ud800x"}', "TEN-1003", "flow.json:1:7"),
        (b'{"\\udc00": 1}', "TEN-1003", "flow.json:1:2"),
        (b'{\n"a": "\xff"}', "TEN-1003", "flow.json:2:7"),
        ('["\ud800"]', "TEN-1003", "flow.json:1:2"),
        (b"[" + b"9" * 5000 + b"]", "TEN-1003", "flow.json:1:2"),
        (b'["a\nb"]', "TEN-1001", "flow.json:1:4"),
        (b'["\x00"]', "TEN-1001", "flow.json:1:3"),
    ],
)
def test_a_refusal_names_line_and_column(text: bytes | str, code: str, place: str) -> None:
    [(found, message)] = refused(text)
    assert found == code
    assert message.startswith(f"{place}: ")


def test_every_duplicate_key_is_reported() -> None:
    assert [code for code, _ in refused('{"a": 1, "a": NaN, "b": 1, "b": 2}')] == [
        "TEN-1002",
        "TEN-1003",
        "TEN-1002",
    ]


def test_surrogate_pairs_are_text() -> None:
    assert parse_document('["\\ud83d\\ude00"]', "f") == ["😀"]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_endless_nesting_is_refused(opening: str) -> None:
    assert [code for code, _ in refused(opening * 100_000)] == ["TEN-1005"]


def test_more_than_the_limit_is_refused_unread() -> None:
    assert [code for code, _ in refused(b" " * 16_000_001)] == ["TEN-1004"]


def problems_of(text: bytes | str) -> set[str]:
    """The codes of what is wrong with a text; none if it is read."""
    try:
        parse_document(text, "f")
    except InvalidDefinition as error:
        return {each.code for each in error.problems} or {"no problem named"}
    return set()


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_what_python_writes_is_read_unless_it_is_unfit(value: object) -> None:
    text = json.dumps(value)
    if problems_of(text):
        assert problems_of(text) == {"TEN-1003"}
        assert "\\u0000" in text or "\\ud" in text
    else:
        assert parse_document(text, "f") == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert problems_of(data) <= {"TEN-1001", "TEN-1002", "TEN-1003"}
