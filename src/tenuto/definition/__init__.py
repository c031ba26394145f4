"""Definitions: three spellings of one graph, checked completely and compiled."""

from __future__ import annotations

from tenuto.definition.compiler import Checked, check, compile_definition
from tenuto.definition.documents import parse_document
from tenuto.definition.schemas import form_problems, input_problems
from tenuto.definition.to_document import to_graph_form, to_steps_form
from tenuto.definition.to_mermaid import to_mermaid

__all__ = [
    "Checked",
    "check",
    "compile_definition",
    "form_problems",
    "input_problems",
    "parse_document",
    "to_graph_form",
    "to_mermaid",
    "to_steps_form",
]
