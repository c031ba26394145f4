"""Where a generator's decisions come from: a seed, or Hypothesis, which can make them smaller."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Choices(Protocol):
    """A source of decisions; small numbers stand for simple things."""

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1."""


class Seeded:
    """Decisions that follow from a seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)


class Drawn:
    """Decisions that Hypothesis makes: `draw_below` draws a number from 0 to its argument - 1."""

    def __init__(self, draw_below: Callable[[int], int]) -> None:
        self.below = draw_below


def chance(choices: Choices, percent: int) -> bool:
    """True in so many of a hundred cases."""
    return choices.below(100) >= 100 - percent


def pick(choices: Choices, items: Sequence[Item]) -> Item:
    return items[choices.below(len(items))]


def between(choices: Choices, least: int, most: int) -> int:
    return least + choices.below(most - least + 1)


def weighted(choices: Choices, weights: dict[Item, int]) -> Item:
    """One of the keys, each as likely as its weight."""
    left = choices.below(sum(weights.values()))
    for item, weight in weights.items():
        left -= weight
        if left < 0:
            return item
    raise AssertionError("weights add up")
