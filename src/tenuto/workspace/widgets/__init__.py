"""An instance's values in the shape that a widget of a dashboard shows."""

from __future__ import annotations

from tenuto.workspace.widgets.config import WidgetConfig, WidgetType, read_config
from tenuto.workspace.widgets.shapes import cells_of, shape

__all__ = ["WidgetConfig", "WidgetType", "cells_of", "read_config", "shape"]
