"""What happens when the time has come."""

from __future__ import annotations

from typing import Any

from tenuto import task


@task
async def remind(reminder: dict[str, Any]) -> str:
    return f"Do not forget: {reminder['about']}"
