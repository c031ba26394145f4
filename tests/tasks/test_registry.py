from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from datetime import timedelta
from typing import Any, cast

import pytest

from tenuto.model.errors import TenutoError
from tenuto.model.policy import RetryPolicy
from tenuto.tasks import DEFAULT_REGISTRY, Registry, Retry, TaskFunction, task


def test_a_task_is_called_like_its_function() -> None:
    @Registry().task
    def double(number: int) -> int:
        """Twice."""
        return 2 * number

    assert double(4) == 8
    assert double.fn(4) == 8
    assert (double.name, double.__doc__) == ("double", "Twice.")
    assert not double.is_async


def test_an_async_task_is_called_like_its_function() -> None:
    @Registry().task(name="other")
    async def double(number: int) -> int:
        return 2 * number

    assert double.name == "other"
    assert double.is_async
    assert asyncio.run(double.fn(4)) == 8
    assert asyncio.run(cast("Coroutine[None, None, int]", double(4))) == 8


def test_options_become_policies() -> None:
    @Registry().task(
        retry=Retry(attempts=5, first="PT2S", factor=3, cap=timedelta(minutes=1), on_lost="fail"),
        timeout="PT20S",
        heartbeat_timeout=timedelta(seconds=5),
        isolation=None,
    )
    def charge() -> None: ...

    assert charge.timeout == timedelta(seconds=20)
    assert charge.heartbeat_timeout == timedelta(seconds=5)
    assert charge.isolation is None
    assert charge.retry == RetryPolicy(
        max_attempts=5,
        initial_delay=timedelta(seconds=2),
        multiplier=3.0,
        max_delay=timedelta(minutes=1),
        on_lost="fail",
    )


def test_options_left_out_are_nobody_s_choice() -> None:
    @Registry().task
    def charge() -> None: ...

    assert (charge.retry, charge.timeout, charge.heartbeat_timeout) == (None, None, None)
    assert Retry().policy == RetryPolicy()
    assert Retry(non_retryable=["A"]).policy.non_retryable == ("A",)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": "20 seconds"},
        {"timeout": "P1M"},
        {"timeout": "PT0S"},
        {"timeout": 20},
        {"timeout": timedelta(seconds=-1)},
        {"heartbeat_timeout": "soon"},
        {"retry": 3},
        {"isolation": "thread"},
        {"name": ""},
        {"name": 3},
    ],
)
def test_an_option_that_means_nothing_is_refused_where_it_is_written(
    options: dict[str, Any],
) -> None:
    with pytest.raises(TenutoError) as refusal:
        Registry().task(**options)(lambda: None)
    assert refusal.value.code == "TEN-1802"
    assert refusal.value.advice


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"attempts": "3"},
        {"attempts": True},
        {"first": "soon"},
        {"factor": 0.5},
        {"factor": float("inf")},
        {"cap": 5},
        {"non_retryable": "OUT_OF_STOCK"},
        {"on_lost": "ignore"},
    ],
)
def test_a_retry_that_means_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(TenutoError) as refusal:
        Retry(**options)
    assert refusal.value.code == "TEN-1802"


def _generator() -> Iterator[int]:
    yield 1


async def _async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("thing", [3, int, _generator, _async_generator, max])
def test_what_cannot_be_a_task_is_refused(thing: Callable[..., object]) -> None:
    with pytest.raises(TenutoError) as refusal:
        Registry().task(thing)
    assert refusal.value.code == "TEN-1802"


def test_a_function_inside_another_cannot_be_run_by_a_child_process() -> None:
    with pytest.raises(TenutoError, match="not at the top of a module"):

        @Registry().task(isolation="process")
        def inner() -> None: ...


def test_two_functions_under_one_name_are_refused_with_both_places() -> None:
    registry = Registry()

    @registry.task(name="charge")
    def first() -> None: ...

    with pytest.raises(TenutoError) as refusal:

        @registry.task(name="charge")
        def second() -> None: ...

    assert refusal.value.code == "TEN-1801"
    places = re.findall(r"test_registry\.py:\d+", refusal.value.message)
    assert len(set(places)) == 2
    assert registry.get("charge") is first


def test_the_same_function_loaded_again_takes_its_place() -> None:
    registry = Registry()

    def load() -> TaskFunction[[], None]:
        @registry.task
        def charge() -> None: ...

        return charge

    load()
    again = load()
    assert registry.get("charge") is again


def test_an_app_s_own_tasks_are_looked_up_first() -> None:
    everybody = Registry()
    own = Registry(behind=everybody)

    @everybody.task(name="charge")
    def usual() -> None: ...

    @everybody.task
    def refund() -> None: ...

    @own.task(name="charge")
    def special() -> None: ...

    assert own.get("charge") is special
    assert everybody.get("charge") is usual
    assert own.get("refund") is refund
    assert own.get("nothing") is None
    assert "refund" in own
    assert "nothing" not in own
    assert list(own) == ["charge", "refund"]


def test_a_task_can_be_registered_elsewhere_as_it_is() -> None:
    registry = Registry()
    made = TaskFunction(lambda: None, name="made", timeout="PT1S")
    assert registry.task(made) is made
    assert registry.get("made") is made
    renamed = registry.task(name="renamed")(made)
    assert renamed.fn is made.fn


def test_the_bare_decorator_registers_for_the_whole_process() -> None:
    @task
    def known_to_the_whole_process() -> None: ...

    assert DEFAULT_REGISTRY.get("known_to_the_whole_process") is known_to_the_whole_process
    assert "known_to_the_whole_process" in Registry(behind=DEFAULT_REGISTRY)


def test_misspelled_names_have_neighbours() -> None:
    registry = Registry()
    for name in ("charge", "refund", "Reserve"):
        registry.task(name=name)(lambda: None)
    assert registry.nearest("chagre") == ["charge"]
    assert registry.nearest("reserve") == ["Reserve"]
    assert registry.nearest("xyz") == []


def test_partials_and_callable_objects_are_tasks_of_the_right_kind() -> None:
    class Caller:
        async def __call__(self, number: int) -> int:
            return number

    async def add(left: int, right: int) -> int:
        return left + right

    assert TaskFunction(Caller()).is_async
    assert TaskFunction(Caller()).name == "Caller"
    assert TaskFunction(functools.partial(add, 1), name="add").is_async
    assert "add" in repr(TaskFunction(functools.partial(add, 1), name="add"))
