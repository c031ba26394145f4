"""The workflow of processes that are killed while they run a task with a limit."""

from __future__ import annotations

from tenuto.model.json import Object

FLOW: Object = {
    "id": "limited",
    "steps": [
        {
            "stepId": "a",
            "type": "TASK",
            "taskId": "busy",
            "retry": {"maxAttempts": 10, "initialDelay": 1, "onLost": "retry"},
        }
    ],
}
