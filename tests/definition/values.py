"""What documents under test are made of."""

from __future__ import annotations

from typing import Any, TypeAlias

Value: TypeAlias = Any
"""Anything, also what no document may hold."""
