"""What happens when the time has come.

tenuto run examples/delay/delay.json --input '{"about": "water the plants", "after": "PT1S"}'
"""

from __future__ import annotations

from typing import Any

from tenuto import task


@task
async def remind(reminder: dict[str, Any]) -> str:
    return f"Do not forget: {reminder['about']}"
