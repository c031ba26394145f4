"""Names of fields whose values are secret."""

from __future__ import annotations

import re
from typing import Final

_SECRET: Final = re.compile(
    r"(?!secret_?ref\Z)(?:pwd|.*(?:secret|passw|token|authorization|credential|cookie|api.?key|private.?key).*)",
    re.IGNORECASE | re.DOTALL,
)


def is_secret_name(name: str) -> bool:
    """Whether the name of a field says that its value is secret; `secretRef` names a secret."""
    return _SECRET.fullmatch(name) is not None
