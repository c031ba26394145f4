"""Expressions mean what JavaScript says they mean, but for the documented differences."""

from __future__ import annotations

import copy
from collections import Counter

import pytest

from tests.expr.cases import SCOPE, SECTIONS, expected
from tests.expr.javascript import JavaScript, agree, difference, ours

BATCH = 500


@pytest.mark.slow
@pytest.mark.parametrize("section", SECTIONS)
def test_every_expression_gives_what_javascript_gives(section: str) -> None:
    javascript = JavaScript(SCOPE)
    cases = list(SECTIONS[section]())
    filled: Counter[str] = Counter()
    known: Counter[str] = Counter()
    wrong: list[str] = []
    for start in range(0, len(cases), BATCH):
        batch = cases[start : start + BATCH]
        theirs = javascript.outcomes([case.source for case in batch])
        for case, their in zip(batch, theirs, strict=True):
            mine = ours(case.source, SCOPE)
            if agree(mine, their):
                filled.update(case.cells)
            elif (shown := difference(mine, their)) is not None:
                known[shown.name] += 1
            else:
                wrong.append(f"{case.source}\n    ours       {mine}\n    JavaScript {their}")
    print(f"\n{section}: {len(cases)} expressions, {len(filled)} cells, set apart: {dict(known)}")
    for cell, count in sorted(filled.items()):
        print(f"  {cell:40} {count:6}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:40])
    assert not expected(section) - filled.keys()


def test_the_comparison_is_broad() -> None:
    sources = {case.source for section in SECTIONS.values() for case in section()}
    assert len(sources) >= 20_000


@pytest.mark.slow
def test_evaluating_changes_nothing_in_the_scope() -> None:
    before = copy.deepcopy(SCOPE)
    for section in ("methods", "iterations"):
        for case in SECTIONS[section]():
            ours(case.source, SCOPE)
    assert before == SCOPE
