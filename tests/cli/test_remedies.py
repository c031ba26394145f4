"""A command that is refused, and the same as its advice says: the error is gone."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.conftest import Terminal, one_of_each

REFUSED = (
    ("start doubel -i 21", "TEN-2002", "Did you mean", "start double -i 21"),
    ("start double -i {", "TEN-2004", "in single quotes", "start double -i 21"),
    (
        "start double -i @missing.json",
        "TEN-3001",
        "Correct the path",
        "start double -i @there.json",
    ),
    (
        "start double --version 9",
        "TEN-2002",
        "newest version is 1",
        "start double -i 1 --version 1",
    ),
    ("list --status FALED", "TEN-2000", "Did you mean", "list --status FAILED"),
    ("list --updated-since soon", "TEN-2000", "such as 2h", "list --updated-since 2h"),
    ("list --cursor x", "TEN-2009", "unchanged", "list"),
    ("list --workflow wait --variable n", "TEN-2000", "a name and a value", "list"),
    ("show 0", "TEN-2008", "@last", "show @last"),
    ("show 019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b", "TEN-3001", "tenuto list", "list"),
    ("rerun @last --from twiec", "TEN-2010", "twice", "rerun @last --from twice"),
    ("rerun @last --version 7", "TEN-2002", "", "rerun @last --version 1"),
    ("events send 'a.*'", "TEN-2015", "", "events send a.name"),
    ("events show nothing", "TEN-30", "", "events list"),
    ("events send workflow.completed", "TEN-2015", "", "events send order.completed"),
    ("dead-letters show nothing", "TEN-3040", "", "dead-letters list"),
    (
        "workflows remove wait",
        "TEN-3011",
        "cancel them with force",
        "workflows remove wait --force",
    ),
    ("resume @last-failed", "TEN-3002", "", "explain @last-failed"),
    ("explain TEN-9999", "TEN-", "TEN-", "explain TEN-1042"),
    ("list --store sqlite:///none.db", "TEN-4021", "--store", "migrate --store sqlite:///none.db"),
    ("stats --server http://127.0.0.1:1", "TEN-40", "", "stats"),
    ("validate bad.json", "TEN-1012", "steps", "validate good.json"),
)
"""What is refused, its code, what the advice says, and the command that it leads to."""


@pytest.mark.slow
def test_what_is_refused_is_taken_once_it_is_as_the_advice_says(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    terminal.write("there.json", 21)
    step = {"stepId": "a", "type": "TASK", "taskId": "double"}
    terminal.write("bad.json", {"stepz": [], "steps": [step]})
    terminal.write("good.json", {"steps": [step]})
    for wrong, code, advice, right in REFUSED:
        refused = terminal.call(*shlex.split(wrong))
        assert refused.code != 0, wrong
        said = refused.err + refused.out
        assert code in said, (wrong, said)
        assert advice in said, (wrong, said)
        assert "Traceback" not in said
        taken = terminal.call(*shlex.split(right))
        assert taken.code == 0, (right, taken.err)
