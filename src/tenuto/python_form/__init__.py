"""The Python form: functions that describe workflows.

A function under `@workflow` is called once, with stand-ins for values that will exist later, and
what it calls is written down (`trace`): a task is a step, a value that one step gives another is
an edge. Steps get their ids when it has returned (`naming`), their edges after that (`wiring`),
and become the same document that JSON spells (`document`), which the one compiler reads.
"""

from __future__ import annotations
