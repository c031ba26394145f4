"""The Python form: functions that describe workflows.

A function under `@workflow` is called once, with future values in place of its input, and its calls
are recorded (`trace`): a call of a task is a step, a value passed from one step to another is an
edge. What the function writes beside calls of tasks is in `blocks` (`when`), `loops`, `waits`,
`approvals`, `barriers`, `joins`, `child` and `variables`. Steps get their ids when it has returned
(`step_ids`), their edges after that (`edges`), and become the same document as in JSON
(`document`), which the one compiler reads.
"""

from __future__ import annotations
