"""What somebody changed by hand before something was tried again."""

from __future__ import annotations

from msgspec import Struct

from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON


class EditedInput(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """What a task is given from now on, instead of what it failed with."""

    step_id: str
    input: JSON
    iteration: str = ""

    @property
    def key(self) -> NodeKey:
        return NodeKey(self.step_id, self.iteration)
