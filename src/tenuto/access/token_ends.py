"""When a token expires, as it says itself: for the client, which renews it in time."""

from __future__ import annotations

import jwt


def ends_at(token: str) -> float | None:
    """Seconds since 1970; None where it does not say so. Nothing of it is proved."""
    try:
        said = jwt.decode(token, options={"verify_signature": False})
        return float(said["exp"])
    except (jwt.PyJWTError, KeyError, TypeError, ValueError):
        return None
