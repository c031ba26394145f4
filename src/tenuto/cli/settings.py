"""The settings of a service, and `tenuto config show`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tenuto.api.config import ShownSetting
from tenuto.cli import exits
from tenuto.cli.views.tables import table_of
from tenuto.cli.views.terminal import show, show_json
from tenuto.compose import MEMORY, without_password
from tenuto.config.config import SECRET, URLS
from tenuto.config.names import settings, value_of
from tenuto.config.sources import Effective, read_config
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON

if TYPE_CHECKING:
    from tenuto.cli.commands.service import Flags

_HIDDEN = "…"


def effective(flags: Flags) -> Effective:
    """The effective settings; InvalidInput."""
    given: dict[str, object] = {
        "host": flags.host,
        "port": flags.port,
        "tasks": flags.tasks or None,
        "store": flags.store,
        "log_format": flags.log_format,
        **flags.access,
    }
    return configured(given, flags.chosen, flags.file)


def configured(
    flags: Mapping[str, object], chosen: Iterable[str] | None, file: Path | None
) -> Effective:
    """Flags by the names of their settings, then `--set`, the environment and the file."""
    given = dict(flags)
    for each in chosen or ():
        name, equals, value = each.partition("=")
        if not equals:
            problem = Problem(
                code="TEN-2631",
                path=f"--set {each}",
                message="a setting is NAME=VALUE",
                advice="Write --set engine.jobs_every=1.",
            )
            raise InvalidInput("the configuration cannot be used", [problem])
        given[name.strip()] = value
    return read_config(given, os.environ, file)


def shown_settings(found: Effective) -> tuple[ShownSetting, ...]:
    """Every setting with its value and its origin; no secret."""
    return tuple(
        ShownSetting(name=name, value=_shown(found, name), origin=found.origins[name])
        for name in settings()
    )


async def show_settings(flags: Flags, *, is_json: bool) -> int:
    """Each setting with its value and its origin; no secret."""
    found = effective(flags)
    rows = {
        each.name: {"value": each.value, "origin": each.origin} for each in shown_settings(found)
    }
    if is_json:
        show_json(rows)
        return exits.DONE
    lines = [[name, _text(row["value"]), str(row["origin"])] for name, row in rows.items()]
    show(table_of(["setting", "value", "from"], lines, whole=1))
    return exits.DONE


def _shown(found: Effective, name: str) -> JSON:
    value = value_of(found.config, name)
    if name in SECRET and value is not None:
        return _HIDDEN
    if name in URLS and isinstance(value, str) and value != MEMORY:
        return without_password(value)
    plain: JSON = msgspec.to_builtins(value)
    return plain


def _text(value: object) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
