"""Definitions: three spellings of one graph, checked completely and compiled."""

from __future__ import annotations

from tenuto.definition.compiler import Checked, check, compile_definition
from tenuto.definition.schemas import input_problems

__all__ = ["Checked", "check", "compile_definition", "input_problems"]
