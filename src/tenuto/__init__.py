"""Tenuto: workflows that reach their end."""

from __future__ import annotations

__version__ = "0.1.0"
