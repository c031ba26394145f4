"""Holidays of countries, from the library `holidays`, which is imported when one is asked for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from tenuto.calendars.calendar import HolidayRule

ENGLISH: Final = "en_US"
"""Names are in English where the library has them, whatever the language of the machine."""

_FILTERS: Final = (
    # Of some religions the library knows the days of a few decades.
    (
        "ignore",
        re.compile("Requested Holidays are available only", re.IGNORECASE),
        UserWarning,
        None,
        0,
    ),
    # Calendars that name a part of a country by its former code go on as they are.
    (
        "ignore",
        re.compile("This subdivision is deprecated", re.IGNORECASE),
        DeprecationWarning,
        None,
        0,
    ),
)
"""As `warnings` keeps them."""


class Country(NamedTuple):
    """What the library knows of a country."""

    subdivisions: frozenset[str]
    categories: tuple[str, ...]


@lru_cache(maxsize=1)
def countries() -> Mapping[str, str]:
    """The code of each country → its name in words: `DE` → `germany`."""
    from holidays.registry import COUNTRIES  # noqa: PLC0415  half a second, for those who use it

    return {codes[1]: name.replace("_", " ") for name, codes in COUNTRIES.items()}


@lru_cache(maxsize=256)
def country(code: str) -> Country | None:
    """What is known of a country; None if it is not known."""
    if code not in countries():
        return None
    import holidays  # noqa: PLC0415

    entity = holidays.country_holidays(code, language=ENGLISH)
    aliases = (*entity.subdivisions_aliases, *entity.subdivisions)
    return Country(frozenset(aliases), tuple(entity.supported_categories))


@lru_cache(maxsize=300)
def holidays_of(rule: HolidayRule, years: range) -> Mapping[date, str]:
    """The holidays of a checked rule in some years, with their names; not to be changed.

    Those of a country take the library up to 40 ms: they are kept for all that have its rule.
    """
    return _asked(rule, years)


def _asked(rule: HolidayRule, years: range) -> dict[date, str]:
    import holidays  # noqa: PLC0415

    _keep_quiet()
    found = holidays.country_holidays(
        rule.country,
        subdiv=rule.subdivision,
        years=years,
        expand=False,
        language=ENGLISH,
        categories=rule.categories or None,
    )
    return dict(sorted(found.items()))


def _keep_quiet() -> None:
    """Keep what the library says of these out of the log, for good.

    The filters are those of the whole process, and calendars are read in several threads: filters
    that were put back afterwards would take away what another thread has set meanwhile.
    """
    for each in _FILTERS:
        if each not in warnings.filters:
            warnings.filterwarnings("ignore", each[1].pattern, each[2])
