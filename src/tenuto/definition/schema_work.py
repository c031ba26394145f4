"""How much work a JSON Schema can cause: counted from schema and value, before any evaluation.

The count is an upper bound in steps, never in time, so that the same schema and value are accepted
or refused alike on every machine. A schema is applied to a value; keywords such as `allOf` and
`$ref` apply further schemas to the same value (in place), others to its items and properties. Per
level of a value the most applications to any one value there follow from the level above.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from tenuto.definition.schema_nodes import Keys, Node, Nodes, SchemaTooCostly
from tenuto.model.json import JSON
from tenuto.model.pauses import between_parts

MOST_STEPS: Final = 1_000_000
"""The most steps of one evaluation."""
STEPS_OF_A_PROBLEM: Final = 200
"""A problem that is listed costs as many."""
MOST_STEPS_FOR_A_LIST: Final = MOST_STEPS // STEPS_OF_A_PROBLEM
"""The most steps of an evaluation that lists every problem: each of them may find one."""
_MOST_LISTED_BYTES: Final = 20_000_000
"""The most bytes that the messages of every problem quote."""
MOST_PER_VALUE: Final = 100_000
"""The most steps that a schema may cause for one value, whatever the value."""
_MOST_LINKS: Final = 50_000
"""The most applications of different schemas that are followed."""
_MOST_LINKS_OF_LEVELS: Final = 2_000_000
_DEEPEST: Final = 200
"""How many schemas may be nested that apply to one value."""
_UNITS: Final = 16
"""Units of work on one character that make a step."""

_Counts: TypeAlias = Counter[int]


class Work(NamedTuple):
    """The most steps of an evaluation, and the most bytes that its problems quote."""

    steps: int
    quoted: int

    @property
    def may_list(self) -> bool:
        """Whether every problem may be listed."""
        return self.steps <= MOST_STEPS_FOR_A_LIST and self.quoted <= _MOST_LISTED_BYTES


class _Children(NamedTuple):
    """Which schemas the items, or the properties, of a value get, and how often."""

    every: _Counts
    named: dict[str | int, _Counts]
    """In addition to `every`, by the name of a property or the index of an item."""

    def most(self, level: list[int]) -> int:
        """The most that one child gets, where `level` has the count of each schema."""
        base = sum(level[each] * times for each, times in self.every.items())
        extra = (
            sum(level[each] * times for each, times in counts.items())
            for counts in self.named.values()
        )
        return base + max(0, max(extra, default=0))


class SchemaWork:
    """The bounds of one schema; SchemaTooCostly where it has none that is small enough."""

    def __init__(self, schema: JSON) -> None:
        self._nodes = Nodes(schema)
        self._links = 0
        self._applied: dict[int, _Counts] = {}
        self._marked: dict[int, _Counts] = {}
        self._open: set[int] = set()
        self._targets = [0]
        self._places = {0: 0}
        self._children: list[tuple[_Children, _Children]] = []
        self._steps: list[list[int]] = []
        self._units: list[list[int]] = []
        self._most_at: list[tuple[int, int]] = []
        """By depth: the most steps, and units for each character, of any one value."""
        self._is_settled = False
        self._reads_text = False
        self._follow()

    @property
    def is_backtracking(self) -> bool:
        """Whether a pattern needs an engine that backtracks."""
        return self._nodes.is_backtracking

    @property
    def pattern_size(self) -> int:
        """The characters of its patterns, repetitions counted: what compiling it costs."""
        return self._nodes.pattern_size

    @property
    def has_branches(self) -> bool:
        """Whether one problem may quote the problems of several branches."""
        return any(node.has_branches for node in self._nodes)

    def admit(self, value: JSON) -> int:
        """The steps of evaluating a value; SchemaTooCostly if they are more than it may cause.

        As `of`, but quick where no text is read: that is so for most schemas, at every start.
        """
        if self._reads_text:
            return self.of(value).steps
        level, depth, steps = [value], 0, 0
        while level and (applications := self._most(depth)[0]):
            steps += applications * len(level)
            if steps > MOST_STEPS:
                raise _too_many_steps()
            below: list[JSON] = []
            for each in level:
                if isinstance(each, dict):
                    below.extend(each.values())
                elif isinstance(each, list):
                    below.extend(each)
            level = below
            depth += 1
        return steps

    def of(self, value: JSON) -> Work:
        """The work of evaluating a value; SchemaTooCostly if it is more than a schema may cause."""
        levels = list(_levels(value))
        below = sum(level.size for level in levels)
        steps = quoted = 0
        for depth, level in enumerate(levels):
            applications, units = self._most(depth)
            steps += applications * level.values + units * below // _UNITS
            quoted += applications * (below + level.values * level.way)
            below -= level.size
            if steps > MOST_STEPS:
                raise _too_many_steps()
            if not applications:
                break
        return Work(steps, quoted)

    def _most(self, depth: int) -> tuple[int, int]:
        """The most steps, and units for each character, of any one value at a depth."""
        while len(self._most_at) <= depth:
            if self._is_settled:
                return self._most_at[-1]
            self._go_deeper()
        return self._most_at[depth]

    def _go_deeper(self) -> None:
        if len(self._steps) * self._links > _MOST_LINKS_OF_LEVELS:
            raise SchemaTooCostly((), "the schema is too large for values nested this deeply")
        for rows in (self._steps, self._units):
            above = rows[-1]
            rows.append([max(kind.most(above) for kind in children) for children in self._children])
        self._most_at.append((self._steps[-1][0], self._units[-1][0]))
        self._is_settled = self._steps[-1] == self._steps[-2] and self._units[-1] == self._units[-2]

    def _follow(self) -> None:
        """Find each schema that a value may get, and all that it applies to the same value."""
        nodes, steps, units = self._nodes, list[int](), list[int]()
        for target in self._targets:
            if nodes[target].is_leaf:
                steps.append(nodes[target].steps)
                units.append(nodes[target].units)
                self._children.append(_NO_CHILDREN)
                continue
            applied = self._in_place(target, 0)
            most = sum(nodes[each].steps * times for each, times in applied.items())
            if most > MOST_PER_VALUE:
                raise SchemaTooCostly(
                    nodes[target].keys,
                    f"it may take more than {MOST_PER_VALUE:,} steps of work for each value",
                )
            steps.append(most)
            units.append(sum(nodes[each].units * times for each, times in applied.items()))
            self._children.append(self._children_of(applied))
        self._steps.append(steps)
        self._units.append(units)
        self._most_at.append((steps[0], units[0]))
        self._reads_text = any(units)

    def _in_place(self, index: int, depth: int) -> _Counts:
        """How often each schema is applied to a value to which one is applied."""
        known = self._applied.get(index)
        if known is not None:
            return known
        node = self._nodes[index]
        if index in self._open:
            raise SchemaTooCostly(node.keys, "it refers to itself for the same value")
        if depth > _DEEPEST:
            raise SchemaTooCostly(node.keys, f"schemas within schemas, more than {_DEEPEST} deep")
        self._open.add(index)
        applied: _Counts = Counter({index: 1})
        for inner in self._nodes.inner(index):
            self._add(applied, self._in_place(inner, depth + 1), node)
        for _ in range(node.unevaluated):
            self._add(applied, self._again(index), node)
        self._open.discard(index)
        self._applied[index] = applied
        return applied

    def _again(self, index: int) -> _Counts:
        """What is applied again to learn what a schema evaluates: all within it, at each depth."""
        known = self._marked.get(index)
        if known is not None:
            return known
        marked: _Counts = Counter({index: 1})
        for inner in self._nodes.inner(index):
            self._add(marked, self._applied[inner], self._nodes[index])
            self._add(marked, self._again(inner), self._nodes[index])
        self._marked[index] = marked
        return marked

    def _add(self, counts: _Counts, more: _Counts, node: Node) -> None:
        self._count(len(more), node.keys)
        for each, times in more.items():
            counts[each] += times
        if counts.total() > MOST_PER_VALUE:
            raise SchemaTooCostly(
                node.keys, f"it applies more than {MOST_PER_VALUE:,} schemas to each value"
            )

    def _children_of(self, applied: _Counts) -> tuple[_Children, _Children]:
        both = _Children(Counter(), {}), _Children(Counter(), {})
        for each, times in applied.items():
            for children, links in zip(both, self._nodes.children(each), strict=True):
                others = [self._target(other) for other in links.others]
                for child in (*map(self._target, links.every), *others):
                    children.every[child] += times
                for name, child in links.named.items():
                    counts = children.named.setdefault(name, Counter())
                    counts[self._target(child)] += times
                    for other in others:
                        counts[other] -= times
                count = len(links.every) + (1 + len(others)) * (1 + len(links.named))
                self._count(count, self._nodes[each].keys)
        return both

    def _target(self, number: int) -> int:
        """The place of a schema among those that values get."""
        place = self._places.setdefault(number, len(self._targets))
        if place == len(self._targets):
            self._targets.append(number)
        return place

    def _count(self, links: int, keys: Keys) -> None:
        between_parts()
        self._links += links
        if self._links > _MOST_LINKS:
            raise SchemaTooCostly(keys, f"the schema has more than {_MOST_LINKS:,} applications")


def _too_many_steps() -> SchemaTooCostly:
    message = f"checking it could take more than {MOST_STEPS:,} steps of work"
    return SchemaTooCostly((), message)


_NO_CHILDREN = (_Children(Counter(), {}), _Children(Counter(), {}))


class _Level(NamedTuple):
    """One level of a value: how many values, about how many bytes, and the longest way there."""

    values: int
    size: int
    way: int


def _levels(value: JSON) -> Iterator[_Level]:
    """The levels of a value from the top."""
    level: list[JSON] = [value]
    names = way = 0
    while level:
        size = names + 4 * len(level)
        names = longest = 0
        below: list[JSON] = []
        for each in level:
            if isinstance(each, str):
                size += len(each)
            elif isinstance(each, dict):
                below.extend(each.values())
                lengths = [*map(len, each)]
                names += sum(lengths)
                longest = max(longest, *lengths, 0)
            elif isinstance(each, list):
                below.extend(each)
        yield _Level(len(level), size, way)
        way += longest
        level = below
