"""A definition in YAML is the same as in JSON, and what YAML adds to JSON is refused."""

from __future__ import annotations

import json

import pytest

from tenuto.definition import check, parse_document
from tenuto.definition.yaml_documents import MOST_REPEATED, parse_yaml
from tenuto.model.errors import InvalidDefinition
from tests.definition.faults import steps_document
from tests.definition.values import Value

BOMB = "a0: &a0 [xxxxxxxxxx]\n" + "".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 20)
)
"""Some hundred characters that stand for 10^19."""

LADDER = "a0: &a0 [x]\n" + "".join(
    f"a{number}: &a{number} [*a{number - 1}]\n" for number in range(1, 150)
)

REFUSED: dict[str, tuple[str | bytes, str, str]] = {
    "a key twice": ("a: 1\nb: {c: 1, c: 2}", "TEN-1002", "2:11"),
    "an unquoted template": ("a: {{ctx.input.id}}", "TEN-1001", "1:5"),
    "a template and text": ("a: {{ctx.input.id}} more", "TEN-1001", "1:5"),
    "a tab": ("a:\n\tb: 1", "TEN-1001", "2:1"),
    "a colon in text": ("a: b: c", "TEN-1001", "1:5"),
    "an alias without an anchor": ("a: *nowhere", "TEN-1001", "1:4"),
    "a pattern that begins with a star": ("a: *.paid", "TEN-1001", "1:5"),
    "an alias as a key": ("a: &a b\n*a : c", "TEN-1001", "2:1"),
    "a value that contains itself": ("a: &a [*a]", "TEN-1001", "1:8"),
    "an expression that begins with a bang": ("a: !ctx.done", "TEN-1003", "1:4"),
    "an object of Python": ("a: !!python/object:os.system {}", "TEN-1003", "1:4"),
    "a merge key": ("a: &a {b: 1}\nc:\n  <<: *a", "TEN-1003", "3:3"),
    "leading zeros": ("a: 007", "TEN-1003", "1:4"),
    "an octal number": ("a: 0o17", "TEN-1003", "1:4"),
    "an infinity": ("a: .inf", "TEN-1003", "1:4"),
    "a number beyond floats": ("a: 1e999", "TEN-1003", "1:4"),
    "NUL": ('a: "\\0"', "TEN-1003", "1:4"),
    "half a surrogate pair": ('a: "\\ud800"', "TEN-1001", "1:"),
    "a second document": ("a: 1\n---\nb: 2", "TEN-1001", "2:1"),
    "nothing": ("# only a comment", "TEN-1001", "1:1"),
    "aliases of aliases": (BOMB, "TEN-1004", "6:"),
    "aliases that nest": (LADDER, "TEN-1005", ""),
    "too deep": ("[" * 100_000, "TEN-1005", "1:101"),
    "not UTF-8": (b"a: \xff", "TEN-1003", "1:4"),
    "an unclosed quote": ('a: "b', "TEN-1001", ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_json_does_not_have_is_refused_with_its_place_and_a_remedy(case: str) -> None:
    text, code, place = REFUSED[case]
    with pytest.raises(InvalidDefinition) as raised:
        parse_document(text, "flow.yaml")
    [problem] = raised.value.problems
    assert problem.code == code
    assert problem.message.startswith(f"flow.yaml:{place}")
    assert problem.advice


def test_all_problems_of_a_readable_text_are_reported_at_once() -> None:
    with pytest.raises(InvalidDefinition) as raised:
        parse_document("a: 1\na: 2\nb: !x y\nc: .nan", "flow.yml")
    assert [each.code for each in raised.value.problems] == ["TEN-1002", "TEN-1003", "TEN-1003"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("OFF", "OFF"),
        ("2026-11-17", "2026-11-17"),
        ("2026-11-17T12:00:00Z", "2026-11-17T12:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("1_000", "1_000"),
        ("'true'", "true"),
        ('"5"', "5"),
        ("!!str 5", "5"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("-12", -12),
        ("12345678901234567890123", 12345678901234567890123),
        ("1.5e3", 1500.0),
        ("payment.*", "payment.*"),
        ("|\n  ctx.a > 1 &&\n  ctx.b", "ctx.a > 1 &&\nctx.b"),
    ],
)
def test_plain_words_are_typed_as_in_yaml_1_2(written: str, value: Value) -> None:
    found = parse_document(f"a: {written}", "flow.yaml")
    assert isinstance(found, dict)
    assert (found["a"], type(found["a"])) == (value, type(value))


def test_keys_are_text() -> None:
    assert parse_document("yes: 1\n1: 2\ntrue: 3", "f.yaml") == {"yes": 1, "1": 2, "true": 3}


def test_an_alias_repeats_a_value_within_bounds() -> None:
    assert parse_document("a: &r {n: 3}\nb: [*r, *r]", "f.yaml") == {
        "a": {"n": 3},
        "b": [{"n": 3}, {"n": 3}],
    }
    long = "x" * (MOST_REPEATED // 2)
    assert parse_document(f"a: &r {long}\nb: *r", "f.yaml") == {"a": long, "b": long}
    with pytest.raises(InvalidDefinition):
        parse_document(f"a: &r {long}\nb: [*r, *r]", "f.yaml")


def test_json_is_yaml_with_the_same_meaning() -> None:
    document = steps_document()
    read = parse_document(json.dumps(document), "flow.yaml")
    assert read == document
    assert check(read).problems == ()


def test_each_value_is_found_in_the_text() -> None:
    source = "é: ü\nsteps:\n  - {a: [1, x]}\n  - b: |\n      text\n"
    offsets = parse_yaml(source, "f.yaml").offsets
    found = {way: source[offset:].partition("\n")[0] for way, offset in offsets.items()}
    assert found == {
        (): "é: ü",
        ("é",): "ü",
        ("steps",): "- {a: [1, x]}",
        ("steps", 0): "{a: [1, x]}",
        ("steps", 0, "a"): "[1, x]}",
        ("steps", 0, "a", 0): "1, x]}",
        ("steps", 0, "a", 1): "x]}",
        ("steps", 1): "b: |",
        ("steps", 1, "b"): "|",
    }
