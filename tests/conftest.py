"""What all tests share: how Hypothesis searches."""

from __future__ import annotations

from hypothesis import settings

# A busy machine makes an example slow, not wrong; a failure prints what reproduces it elsewhere.
settings.register_profile("tenuto", deadline=None, print_blob=True)
settings.load_profile("tenuto")
