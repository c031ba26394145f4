"""Values that were filled in are found in every form, and nothing else is touched."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, ClassVar
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, strategies as st

from tenuto.model.failure import clipped
from tenuto.model.json import JSON
from tenuto.tasks import secret_forms
from tenuto.tasks.redactor import KEPT_SECONDS, Redactor, without_known_secrets
from tenuto.tasks.secret_forms import Forms

VALUES = (
    "sk-live-51Hxyz",
    'p@ss/w"örd\\ 12+3=é',
    "a b",
    "1234567890",
    "tab\tand\nline",
    "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAo\n-----END KEY-----",
)


class Ticks:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def knowing(*values: str) -> Redactor:
    redactor = Redactor(Ticks())
    for number, value in enumerate(values):
        redactor.remember("us", f"K{number}", value)
    return redactor


def encoded(value: str) -> list[str]:
    data = value.encode()
    found = [value, json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)]
    found += [quote(value), quote(value, safe=""), quote_plus(value)]
    found.append(re.sub(r"%[0-9A-F]{2}", lambda each: each[0].lower(), quote(value)))
    found += [data.hex(), data.hex().upper()]
    for before in (b"", b"u", b"u:", b"usr"):
        for after in (b"", b"!", b"!!"):
            text = before + data + after
            found += [base64.b64encode(text).decode(), base64.urlsafe_b64encode(text).decode()]
    return found


@pytest.mark.parametrize("value", [each for each in VALUES if len(each) >= 8])
def test_a_value_is_found_in_every_encoding(value: str) -> None:
    redactor = knowing(value)
    for text in encoded(value):
        shown = redactor.text("us", f"before {text} after")
        assert "[secret K0]" in shown, text
        assert value not in shown
        assert shown.startswith("before ")
        assert shown.endswith(" after")


def test_what_has_no_secret_is_the_same_object() -> None:
    redactor = knowing("sk-live-51Hxyz")
    plain: JSON = {"a": ["some text", 7, 1.5, None, True, {"b": "more"}]}
    assert redactor.value("us", plain) is plain
    assert redactor.text("us", "sk-live-51Hxy") == "sk-live-51Hxy"
    secret: JSON = {"sk-live-51Hxyz": ["x sk-live-51Hxyz"], "n": 1}
    assert redactor.value("us", secret) == {"[secret K0]": ["x [secret K0]"], "n": 1}


def test_digits_that_come_back_as_a_number_are_found() -> None:
    redactor = knowing("1234567890")
    assert redactor.value("us", [1234567890, 12345678901]) == ["[secret K0]", 12345678901]


def test_each_line_of_a_value_of_several_is_found_by_itself() -> None:
    redactor = knowing(VALUES[-1])
    assert redactor.text("us", "got MIIEvQIBADANBgkqhkiG9w0BAQEF") == "got [secret K0]"


def test_what_was_cut_in_the_middle_of_a_value_is_found() -> None:
    redactor = knowing("sk-live-51Hxyz")
    assert redactor.text("us", "key is sk-live-51…") == "key is [secret K0]…"
    assert redactor.text("us", "…ve-51Hxyz was refused") == "…[secret K0] was refused"
    assert redactor.text("us", "a long story…") == "a long story…"


def test_the_longer_of_two_values_that_begin_alike_is_found() -> None:
    redactor = knowing("token", "token-and-more")
    assert redactor.text("us", "token-and-more, token") == "[secret K1], [secret K0]"


def test_a_value_of_one_tenant_is_nothing_to_another() -> None:
    redactor = knowing("sk-live-51Hxyz")
    assert redactor.text("them", "sk-live-51Hxyz") == "sk-live-51Hxyz"
    assert not redactor.knows("them")
    # The log of the service is one for all, and names none of them.
    assert without_known_secrets("got sk-live-51Hxyz") == "got [secret]"


def test_values_are_forgotten_after_the_attempts_that_got_them() -> None:
    ticks = Ticks()
    redactor = Redactor(ticks)
    redactor.remember("us", "OLD", "old-value", seconds=10)
    redactor.remember("us", "NEW", "new-value", seconds=1_000)
    ticks.now = 10 + KEPT_SECONDS
    redactor.remember("them", "X", "their-value")
    assert redactor.text("us", "old-value new-value") == "old-value [secret NEW]"
    redactor.remember("us", "NEW", "new-value", seconds=100_000)
    ticks.now += 50_000
    redactor.remember("us", "Y", "another")
    assert redactor.text("us", "new-value") == "[secret NEW]", "an attempt may still have it"


@pytest.mark.parametrize("length", range(5, 14))
def test_a_value_that_a_cut_has_divided_is_found_in_the_midst_of_a_text(length: int) -> None:
    redactor = knowing("sk-live-51Hxyz")
    text = clipped(f"Error: {'x' * 20}sk-live-51Hxyz", 27 + length) + " (line 1, column 2)"
    shown = redactor.text("us", text)
    assert "sk-li" not in shown
    assert shown.endswith("x[secret K0]… (line 1, column 2)")


def test_of_many_cuts_the_first_and_the_last_are_looked_at() -> None:
    redactor = knowing("sk-live-51Hxyz")
    text = "a sk-live…" + "and…" * 1_000 + "…51Hxyz"
    assert redactor.text("us", text) == "a [secret K0]…" + "and…" * 1_000 + "…[secret K0]"


@given(
    forms=st.lists(st.text("ab", min_size=1, max_size=80), min_size=1, max_size=12),
    heads=st.lists(st.text("ab", max_size=40), max_size=4),
    text=st.text("abc", max_size=60),
    picks=st.lists(st.integers(0, 50), max_size=8),
)
def test_long_forms_are_found_as_one_pattern_of_them_all_would(
    forms: list[str], heads: list[str], text: str, picks: list[int]
) -> None:
    """Also where several begin alike for longer than is searched for."""
    forms = [*forms, *(head + form for head in heads for form in forms)]
    text = "".join([text, *(forms[pick % len(forms)] + text[: pick % 5] for pick in picks)])
    names = {form: f"[{place}]" for place, form in enumerate(forms)}
    longest_first = sorted(names, key=lambda form: (-len(form), form))
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    assert Forms(names).replaced(text) == pattern.sub(lambda found: names[found[0]], text)


def test_megabytes_of_forms_are_searched_for_by_their_beginnings() -> None:
    """A pattern of all of them took 14 seconds to compile, in whatever logged the next line."""
    forms = {f"{number}-{'x' * 5_000}": "" for number in range(1_000)}
    assert len(Forms(forms)._pattern.pattern) < 100_000


@given(
    step=st.integers(1, 5),
    forms=st.lists(st.text("ab\U0010ffff", min_size=1, max_size=12), min_size=1, max_size=12),
    picks=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 12)), max_size=10),
)
def test_of_forms_that_begin_alike_the_longest_is_found_wherever_they_part(
    step: int, forms: list[str], picks: list[tuple[int, int]]
) -> None:
    text = "".join(forms[pick % len(forms)][: cut or None] for pick, cut in picks)
    names = {form: f"[{place}]" for place, form in enumerate(forms)}
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_forms, "_STEP", step)
        found = Forms(names).replaced(text)
    assert found == pattern.sub(lambda each: names[each[0]], text)


class Counted(str):
    """A text that counts how often a form is compared with it."""

    __slots__ = ()
    compared: ClassVar[int] = 0

    def startswith(self, *args: Any) -> bool:  # noqa: ANN401
        Counted.compared += 1
        return super().startswith(*args)

    def find(self, *args: Any) -> int:  # noqa: ANN401
        Counted.compared += 1
        return super().find(*args)


@pytest.mark.parametrize(
    "forms",
    [
        [f"{'x' * 40}{number:06}" for number in range(1_000)],
        ["x" * 2_000 + "b" + "x" * 2_000],
        [f"{'x' * 2_000}{number:06}" for number in range(1_000)],
        ["x" * 32 + "a" * number for number in range(1, 1_000)],
    ],
    ids=["many", "one that is long", "many that are long", "each the beginning of the next"],
)
def test_forms_that_begin_alike_are_not_tried_one_by_one(
    monkeypatch: pytest.MonkeyPatch, forms: list[str]
) -> None:
    """A thousand tokens of one issuer took 14 seconds in a text that is full of its name."""
    monkeypatch.setattr(Counted, "compared", 0)
    text = Counted("x" * 10_000)
    assert Forms(dict.fromkeys(forms, "")).replaced(text) == text
    assert Counted.compared <= len(text)


def test_values_that_part_one_after_the_other_are_told_apart_in_bounded_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sixty of them took five seconds in 64,000 characters; what follows the first is left out."""
    monkeypatch.setattr(Counted, "compared", 0)
    forms = {"a" * (1_000 * n + 1) + "b" * 20: f"[{n}]" for n in range(1, 60)}
    found = Forms(forms).replaced(Counted(f"first {next(iter(forms))} then {'a' * 64_000} end"))
    assert found.startswith("first [1] then ")
    assert len(found) < 1_000
    assert "end" not in found
    assert Counted.compared < 2 * secret_forms._MOST_STEPS


def test_long_values_that_differ_at_their_ends_are_told_apart() -> None:
    one, two = "\x01" * 32_000 + "a", "\x01" * 32_000 + "b"
    redactor = knowing(one, two)
    assert redactor.text("us", f"{json.dumps(two)} {one}") == '"[secret K1]" [secret K0]'


def test_a_search_tries_few_of_many_values_that_begin_alike() -> None:
    """A pattern is a tree of characters: where one differs, all behind it are left out."""
    forms = {f"key-of-a-service-{number:015}": "" for number in range(1_000)}
    found = re.findall(r"[^()|?:]{2,}", Forms(forms)._pattern.pattern)
    assert sum(map(len, found)) < 1_000
