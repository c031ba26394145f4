"""Holidays of countries, from the library `holidays`, which is imported when one is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from tenuto.calendars.calendar import HolidayRule

ENGLISH: Final = "en_US"
"""Names are in English where the library has them, whatever the language of the machine."""


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

    with warnings.catch_warnings():
        # Of some religions the library knows the days of a few decades, and says so.
        warnings.simplefilter("ignore")
        found = holidays.country_holidays(
            rule.country,
            subdiv=rule.subdivision,
            years=years,
            expand=False,
            language=ENGLISH,
            categories=rule.categories or None,
        )
    return dict(sorted(found.items()))
