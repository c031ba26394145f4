"""Recognises one of Tenuto's packages that is not installed, as in an installation for workers."""

from __future__ import annotations

from tenuto.model.errors import TenutoError


def missing_package(error: Exception) -> TenutoError | None:
    """What to say of an import that failed in a module of Tenuto; None for every other error."""
    if not isinstance(error, ModuleNotFoundError) or not _is_raised_by_tenuto(error):
        return None
    package = (error.name or "").partition(".")[0]
    if package == "tenuto":
        return None
    return TenutoError(
        f"the package {package} is not installed, which this command needs",
        code="TEN-4042",
        advice="Install Tenuto with its packages: pip install tenuto",
    )


def _is_raised_by_tenuto(error: ModuleNotFoundError) -> bool:
    """Whether the import stands in a module of Tenuto, not in one of the user's."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module = "" if place is None else str(place.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == "tenuto"
