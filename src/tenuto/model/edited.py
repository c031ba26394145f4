"""An input that was edited by hand before a retry."""

from __future__ import annotations

from msgspec import Struct

from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON


class EditedInput(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """The input of a task from now on, in place of the one that it failed with."""

    step_id: str
    input: JSON
    iteration: str = ""

    @property
    def key(self) -> NodeKey:
        return NodeKey(self.step_id, self.iteration)
