from __future__ import annotations

import msgspec
import pytest

from tenuto.model.errors import TaskError
from tenuto.model.failure import Failure
from tenuto.tasks.failures import failure_of


def raised(error: BaseException) -> BaseException:
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_a_task_error_says_everything_itself() -> None:
    error = TaskError("OUT_OF_STOCK", "none left", details={"sku": "a"}, retryable=False)
    assert failure_of(error) == Failure(
        code="OUT_OF_STOCK", message="none left", details={"sku": "a"}, retryable=False
    )


def test_any_other_exception_has_its_class_name_as_code_and_is_retryable() -> None:
    failure = failure_of(raised(ZeroDivisionError("division by zero")))
    assert (failure.code, failure.message) == ("ZeroDivisionError", "division by zero")
    assert failure.retryable
    assert isinstance(failure.details, dict)
    assert "raise error" in str(failure.details["traceback"])


def test_an_exception_without_text_is_called_by_its_name() -> None:
    assert failure_of(raised(ValueError())).message == "ValueError"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "error",
    [
        Mute(),
        ValueError("nul \0 and \ud800"),
        ValueError("x" * 10_000_000),
        TaskError("A\0B", "\ud800", details={"n": float("nan")}),
        TaskError("A", details={1, 2}),
        TaskError("A", details="x" * 10_000_000),
        TaskError("", ""),
        TaskError(3, "\0"),  # type: ignore[arg-type]
        SystemExit(3),
        KeyboardInterrupt(),
        MemoryError(),
        ExceptionGroup("several", [ValueError(1), KeyError(2)]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_is_raised_becomes_a_failure_that_can_be_stored(error: BaseException) -> None:
    failure = failure_of(raised(error))
    encoded = msgspec.json.encode(failure)
    assert b"\\u0000" not in encoded
    assert len(encoded) < 10_000
    assert failure.code
    assert failure.message
    assert msgspec.json.decode(encoded, type=Failure) == failure


def test_details_that_are_not_json_are_left_out_with_the_reason() -> None:
    failure = failure_of(TaskError("A", "b", details={"at": object()}))
    assert failure.message == "b"
    assert isinstance(failure.details, dict)
    assert "$.at is of type object" in str(failure.details["leftOut"])


def test_a_traceback_is_short_and_ends_with_what_was_raised() -> None:
    def dig(depth: int) -> None:
        if depth == 0:
            raise ValueError("the bottom")
        dig(depth - 1)

    with pytest.raises(ValueError, match="the bottom") as raised:
        dig(500)
    failure = failure_of(raised.value)
    assert isinstance(failure.details, dict)
    text = str(failure.details["traceback"])
    assert len(text) <= 4_001
    assert text.endswith("ValueError: the bottom\n")
