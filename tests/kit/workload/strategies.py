"""Hypothesis strategies: the same generator, with decisions that shrink."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.kit.workload.choices import Drawn
from tests.kit.workload.draft import Taste
from tests.kit.workload.drawing import Document
from tests.kit.workload.generator import make_document, make_input


@st.composite
def documents(draw: st.DrawFn, taste: Taste | None = None) -> Document:
    """Valid documents in graph form; small and plain ones first."""
    choices = Drawn(lambda bound: draw(st.integers(0, bound - 1)))
    return make_document(choices, taste or Taste())


@st.composite
def inputs(draw: st.DrawFn) -> Document:
    """Inputs that the documents' conditions speak of."""
    return make_input(Drawn(lambda bound: draw(st.integers(0, bound - 1))))
