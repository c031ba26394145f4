"""Works out the value and the source of each setting: flags before environment before file.

All problems are reported at once, each with its place.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args, get_origin

import msgspec
from msgspec import Struct

from tenuto.config.config import Config
from tenuto.config.file import FILE, Found, read_file
from tenuto.config.names import PREFIX, Setting, sections, settings, value_of
from tenuto.engine.settings import Settings, rhythm_problem
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json_words import in_json_words

DEFAULT: Final = "default"
_GROUPS: Final = (
    *("TENUTO_ENGINE_", "TENUTO_OIDC_", "TENUTO_LOG_", "TENUTO_DEV_", "TENUTO_WORKER_"),
    "TENUTO_ENCRYPTION_",
)
"""The prefixes of variables that are settings; an unknown one with such a prefix is an error."""


class Effective(Struct, frozen=True):
    """The settings, and the source of each."""

    config: Config
    origins: Mapping[str, str]
    """Setting → a flag, a variable, a line of a file, or `default`."""


def read_config(
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    file: Path | None = None,
    folder: Path | None = None,
) -> Effective:
    """The settings; flags that are None were not given. InvalidInput lists all problems."""
    usual = (folder or Path()) / FILE
    if file is None and usual.exists():
        file = usual
    problems: list[Problem] = []
    chosen: dict[str, object] = {}
    origins: dict[str, str] = {}
    layers = (
        {} if file is None else read_file(file, _tables()),
        _of_environment(environment),
        {name: Found(value, _flag(name)) for name, value in flags.items() if value is not None},
    )
    for layer in layers:
        for name, found in layer.items():
            setting = settings().get(name)
            if setting is None:
                problems.append(_unknown(name, found))
                continue
            try:
                chosen[name] = _read(setting, found.value)
            except msgspec.DecodeError as error:
                problems.append(_wrong(name, found, error))
            origins[name] = found.place
    problems += [*_missing(chosen), *_unusable(chosen, origins)]
    if problems:
        raise InvalidInput("the configuration cannot be used", problems)
    return Effective(_config(chosen), {name: origins.get(name, DEFAULT) for name in settings()})


def _of_environment(environment: Mapping[str, str]) -> dict[str, Found]:
    known = {each.variable: each.name for each in settings().values()}
    found: dict[str, Found] = {}
    for variable, text in environment.items():
        name = known.get(variable)
        if name is None and variable.startswith(_GROUPS):
            name = variable
        if name is not None:
            found[name] = Found(text, variable)
    return found


def _read(setting: Setting, value: object) -> object:
    """A value of the setting's type; the text of a flag or variable is parsed."""
    is_list = get_origin(setting.type) is tuple
    if isinstance(value, str):
        if is_list:
            value = value.replace(",", " ").split()
        elif setting.is_table:
            return msgspec.json.decode(value or "{}", type=setting.type)
        elif not value and type(None) in get_args(setting.type):
            value = None
        return msgspec.convert(value, setting.type, strict=False)
    return msgspec.convert(value, setting.type)


def _config(chosen: Mapping[str, object]) -> Config:
    def made(kind: Struct, prefix: str) -> Any:  # noqa: ANN401 - the same kind again
        changed: dict[str, object] = {}
        for field in type(kind).__struct_fields__:
            name = prefix + field
            if name in chosen:
                changed[field] = chosen[name]
            elif name in inner:
                changed[field] = made(value_of(Config(), name), f"{name}.")  # type: ignore[arg-type]
        return msgspec.structs.replace(kind, **changed)

    inner = sections()
    config = made(Config(), "")
    assert isinstance(config, Config)
    return config


def _missing(chosen: Mapping[str, object]) -> Iterator[Problem]:
    if chosen.get("oidc_issuer") is not None and chosen.get("oidc_audience") is None:
        yield Problem(
            code="TEN-2632",
            path="oidc_audience",
            message="an issuer of tokens is named, but no audience",
            advice="Set oidc_audience to the `aud` of tokens for this service.",
        )
    if chosen.get("oidc_client_id") is not None and chosen.get("oidc_issuer") is None:
        yield Problem(
            code="TEN-2632",
            path="oidc_client_id",
            message="a client of an identity provider is named, but no issuer",
            advice="Set oidc_issuer to the provider's URL, as its tokens have it in `iss`.",
        )


def _unusable(chosen: Mapping[str, object], origins: Mapping[str, str]) -> Iterator[Problem]:
    """Settings whose values have the right type, and cannot be used all the same."""
    for field in ("private_networks", "private_databases"):
        name = f"engine.{field}"
        if name not in chosen:
            continue
        try:
            Settings(**{field: cast("Any", chosen[name])})
        except ValueError as error:
            yield Problem(
                code="TEN-2632",
                path=origins[name],
                message=f"{name}: {error}",
                advice="List names of hosts and networks, such as erp.internal and 10.1.0.0/16.",
            )
    times = ("engine.heartbeat_every", "engine.dead_after")
    if chosen.keys() & set(times):
        beat, death = (cast("float", chosen.get(name, value_of(Config(), name))) for name in times)
        if (problem := rhythm_problem(beat, death)) is not None:
            yield Problem(
                code="TEN-2632",
                path=next(origins[name] for name in reversed(times) if name in origins),
                message=f"engine.dead_after: {problem}",
                advice="Raise engine.dead_after, or lower engine.heartbeat_every; in all processes "
                "alike.",
            )


def _tables() -> set[str]:
    return {name for name, setting in settings().items() if setting.is_table}


def _unknown(name: str, found: Found) -> Problem:
    names: Callable[[Setting], str] = lambda each: (  # noqa: E731
        each.variable if name.startswith(PREFIX) else each.name
    )
    near = difflib.get_close_matches(name, map(names, settings().values()), n=1)
    return Problem(
        code="TEN-2631",
        path=found.place,
        message=f"there is no setting {name}",
        advice=f"Did you mean {near[0]}?" if near else "See `tenuto config show` for all.",
    )


def _wrong(name: str, found: Found, error: msgspec.DecodeError) -> Problem:
    # The given value is not repeated: it may be a secret in the wrong place.
    return Problem(
        code="TEN-2632",
        path=found.place,
        message=f"{name}: {in_json_words(error)}",
        advice="See `tenuto config show` for its present value.",
    )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}" if "." not in name else f"--set {name}"
