"""`tenuto doctor`: what is wrong with this machine, its store or its server, and what to do."""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import stat
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from tenuto import __version__
from tenuto.api.config import is_loopback
from tenuto.api.connections import bounds_of, hard_limit
from tenuto.cli import exits
from tenuto.cli.backends.backend import Finding
from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.reader import listen_url
from tenuto.cli.schedule_findings import schedule_findings
from tenuto.cli.views.terminal import show, show_indented, show_json, styled
from tenuto.compose import MEMORY, build_sandbox, exposed_files, is_postgres, sqlite_path
from tenuto.encryption.codec import Codec
from tenuto.encryption.store import codec_of
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON
from tenuto.store.parts.quarantine import Suspect
from tenuto.store.parts.upkeep import RowSecurity

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.cli.backends.server import ServerBackend
    from tenuto.cli.backends.store import StoreBackend

_NO_SERVER: Final = "TEN-4030"
_OLDEST: Final = (3, 11)
_LITTLE: Final = 1 << 30
"""Bytes on a disk below which it may soon be full."""
_FEW_FILES: Final = 4_096
"""Open files below which a busy service refuses connections."""
_CONNECTIONS: Final = re.compile(r"^tenuto_connections_(\w+) ([\d.e+]+)$", re.MULTILINE)
_PROTECTIONS: Final = re.compile(
    r'^tenuto_javascript_protections\{name="([\w-]+)"\} ([\d.]+)$', re.MULTILINE
)
_NEEDED: Final = {"system-call-filter", "own-user"}
"""Without any of these, code that takes over its process reaches other processes of its user."""
_FAR: Final = timedelta(seconds=2)
"""A smaller difference of clocks does not matter; a Date header is exact to the second."""
_MARKS: Final = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}


async def examine(backend: Backend, *, is_json: bool) -> int:
    """Check everything and print the findings; the exit code is that of the first problem."""
    found = [_python(), *[each async for each in backend.findings()]]
    if is_json:
        items: list[JSON] = [
            {"what": each.what, "state": each.state, "message": each.message, "advice": each.advice}
            for each in found
        ]
        show_json({"findings": items})
    else:
        for each in found:
            mark, style = _MARKS[each.state]
            show(styled(f"{mark} {each.what:<8}", style, f"  {each.message}"))
            if each.advice:
                show_indented(each.advice, 12)
    return next((each.exit_code for each in found if each.state == "problem"), exits.DONE)


def _python() -> Finding:
    said = f"Python {platform.python_version()}, tenuto {__version__}"
    if sys.version_info < _OLDEST:
        return Finding(
            what="python",
            state="problem",
            message=said,
            advice="Use Python 3.11 or newer.",
            exit_code=exits.FAILED,
        )
    return Finding(what="python", state="ok", message=said)


def _limits() -> Finding:
    bounds = bounds_of(hard_limit())
    message = f"a service here has {bounds.described}"
    if bounds.files >= _FEW_FILES:
        return Finding(what="limits", state="ok", message=message)
    return Finding(
        what="limits",
        state="warning",
        message=message,
        advice="Raise the hard limit of open files: `ulimit -Hn`, or LimitNOFILE= of systemd.",
    )


async def _sandbox() -> Finding:
    """What confines the code of javascript nodes on this machine."""
    made = build_sandbox()
    try:
        ready = await made.protections()
    except RuntimeError as error:
        return Finding(
            what="sandbox",
            state="warning",
            message=f"no process of it starts: {error}",
            advice="Steps with JavaScript code fail here until one does.",
        )
    finally:
        await made.close()
    return _confined(ready.protections, ready.missing)


def _confined(got: Sequence[str], missing: Sequence[str]) -> Finding:
    message = f"JavaScript runs confined: {', '.join(got)}"
    if missing:
        message += f"; not got: {', '.join(missing)}"
    if _NEEDED & set(got):
        return Finding(what="sandbox", state="ok", message=message)
    return Finding(
        what="sandbox",
        state="warning",
        message=message,
        advice="Run it on Linux on x86-64 or ARM, or as root in a container of its own: code that "
        "takes over its process could send signals to other processes of this user.",
    )


def _sandbox_of(metrics: str) -> Finding | None:
    """What confines the code on a server, by its metrics; None where none has run."""
    found = _PROTECTIONS.findall(metrics)
    if not found:
        return None
    got = [name for name, value in found if float(value)]
    return _confined(got, [name for name, value in found if not float(value)])


def _connections(metrics: str) -> Finding:
    """The connections of a server, by its metrics; KeyError where it has none of them."""
    found = {name: float(value) for name, value in _CONNECTIONS.findall(metrics)}
    refused = int(found["refused_total"])
    message = f"{found['open']:,.0f} of {found['limit']:,.0f} connections are open"
    if not refused:
        return Finding(what="limits", state="ok", message=message)
    return Finding(
        what="limits",
        state="warning",
        message=f"{message}, {refused:,} were refused",
        advice="Look in its log for who has them; raise the hard limit of open files if need be.",
    )


async def store_findings(backend: StoreBackend) -> AsyncIterator[Finding]:
    """The limits of this machine; the disk, files, schema, clock, tenants and pooler of a store."""
    url = backend.url
    yield _limits()
    yield await _sandbox()
    if url != MEMORY and not is_postgres(url):
        folder = sqlite_path(url).parent
        yield _disk(folder)
        yield _files(exposed_files(url), folder)
    try:
        reader = backend.space.reader
        newest = await backend.space.page(limit=1)
        workers, now = await reader.store.members.workers(), reader.clock.now()
        is_pooled, wall = reader.store.is_pooled, await reader.store.upkeep.row_security()
        suspects = await reader.store.quarantine.suspects()
        used = await reader.store.sealed.keys()
        codec = codec_of(await reader.store.opened())
    except TenutoError as error:
        yield _failed("store", error)
        return
    at_work = "no process works on it" if not workers else f"{workers} at work on it"
    yield Finding(
        what="store", state="ok", message=f"{backend.described}, schema as new; {at_work}"
    )
    if newest.items:
        yield _clock(newest.items[0].created_at - now, "the newest instance was made")
    if wall is not None:
        yield _wall(wall)
    if used or (codec is not None and codec.current is not None):
        yield _keys(used, codec)
    for suspect in suspects:
        if suspect.is_quarantined:
            yield _quarantined(suspect)
    with suppress(TenutoError):
        async for finding in schedule_findings(backend.space.schedules, now):
            yield finding
    if is_pooled and not listen_url(url):
        yield Finding(
            what="pooler",
            state="warning",
            message="PgBouncer or another pooler is in between, which passes no notifications",
            advice="Name the database itself in TENUTO_LISTEN_URL: without it other processes "
            "notice changes only when they poll.",
        )


def _keys(used: Sequence[str], codec: Codec | None) -> Finding:
    """The encryption keys in use, and those of them that this process does not have."""
    known = () if codec is None else codec.ids
    missing = [key for key in used if key not in known]
    said = f"values are encrypted with {', '.join(used)}" if used else "no value is encrypted yet"
    if codec is not None and codec.current is not None:
        said += f"; {codec.current} encrypts"
    if not missing:
        return Finding(what="keys", state="ok", message=said)
    return Finding(
        what="keys",
        state="warning",
        message=f"{said}; not here: {', '.join(missing)}",
        advice="Name these keys again in the encryption settings, behind the current one; or, if "
        "nothing is left of them, run `tenuto encryption reencrypt`.",
    )


def _quarantined(suspect: Suspect) -> Finding:
    if not suspect.tenant:
        return Finding(
            what="instance",
            state="warning",
            message=f"{suspect.instance_id} cannot be started: {suspect.reason}",
            advice="The next process refuses the start: its parent, or the event, has the reason",
        )
    return Finding(
        what="instance",
        state="warning",
        message=f"{suspect.instance_id} is quarantined: {suspect.reason}",
        advice=f"Mend the cause, then release it: tenuto retry {suspect.instance_id}",
    )


def _wall(wall: RowSecurity) -> Finding:
    if wall.is_up:
        message = "kept apart by the program, and by row-level security in the database"
        return Finding(what="tenants", state="ok", message=message)
    return Finding(
        what="tenants",
        state="warning",
        message="kept apart by the program alone: the database has no row-level security",
        advice=wall.advice,
    )


async def server_findings(backend: ServerBackend) -> AsyncIterator[Finding]:
    """The version, clock, access and connections of a server, and the disk here."""
    from tenuto.client.connection import Ask

    url, connection = backend.url, backend.space.connection
    try:
        ready = await connection.send(Ask("GET", "/health/ready"))
        now = backend.clock.now()
        document = await connection.send(Ask("GET", "/openapi.json"))
        info = connection.decoded(document, dict[str, Any])["info"]
    except TenutoError as error:
        yield _failed("server", error)
        return
    yield _version(url, str(info["version"]))
    if (said := ready.headers.get("date")) is not None:
        yield _clock(parsedate_to_datetime(said) - now, "the server's clock is")
    try:
        await backend.space.page(limit=1)
    except TenutoError as error:
        yield _failed("access", error)
    else:
        yield _open_door(url)
    # A key may lack the permission, and an older server the metrics: neither is a fault.
    with suppress(TenutoError, LookupError):
        page = (await connection.send(Ask("GET", "/metrics"))).body.decode()
        yield _connections(page)
        if (confined := _sandbox_of(page)) is not None:
            yield confined
    with suppress(TenutoError):
        async for finding in schedule_findings(backend.space.schedules, now):
            yield finding
    yield _disk(Path.cwd())


def _version(url: ServerUrl, there: str) -> Finding:
    message = f"{url} is ready, version {there}"
    if there.split(".")[:2] == __version__.split(".")[:2]:
        return Finding(what="server", state="ok", message=message)
    return Finding(
        what="server",
        state="warning",
        message=f"{message}; this program is {__version__}",
        advice="Use the version of the server: entries of a newer one cannot be shown.",
    )


def _open_door(url: ServerUrl) -> Finding:
    far = [each for each in url.addresses if not is_loopback(urlsplit(each).hostname or "")]
    if any(urlsplit(each).scheme == "http" for each in far):
        return Finding(
            what="access",
            state="warning",
            message="the way to the server is not encrypted, and keys can be read on it",
            advice="Put a proxy with TLS before it, and use https://.",
        )
    if url.key is None:
        state: Literal["ok", "warning"] = "warning" if far else "ok"
        return Finding(
            what="access",
            state=state,
            message="the server asks for no credential",
            advice="Make a key with `tenuto keys create NAME --role admin`." if far else "",
        )
    return Finding(what="access", state="ok", message="the key is taken")


def _clock(ahead: timedelta, whose: str) -> Finding:
    # An instance made long ago shows nothing; one made in the future does.
    apart = abs(ahead) if whose.startswith("the server") else max(ahead, timedelta())
    if apart <= _FAR:
        return Finding(what="clock", state="ok", message="agrees with the others")
    where = "ahead" if ahead > timedelta() else "behind"
    return Finding(
        what="clock",
        state="warning",
        message=f"{whose} {apart.total_seconds():.0f} s {where}",
        advice="Let every machine's clock be set by NTP: timers and leases go by it.",
    )


def _disk(folder: Path) -> Finding:
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    message = f"{free / (1 << 30):,.1f} GB free at {folder.resolve()}"
    if free >= _LITTLE:
        return Finding(what="disk", state="ok", message=message)
    return Finding(
        what="disk",
        state="warning",
        message=message,
        advice="Make room: a store that cannot be written accepts nothing.",
    )


def _files(exposed: Sequence[Path], folder: Path) -> Finding:
    """Who may read the store: secrets of webhooks and keys that sign tickets are in it.

    In a folder that others may read, copies and backups that lie beside the store are theirs too.
    """
    commands: list[str] = []
    if exposed:
        commands.append(f"chmod go= {shlex.join(map(str, exposed))}")
    mode = folder.stat().st_mode if folder.exists() else 0
    # A folder such as /tmp is for all: there the files alone count.
    is_open = bool(mode & 0o077) and not mode & stat.S_ISVTX
    if is_open:
        commands.append(f"chmod go= {shlex.quote(str(folder))}")
    if not commands:
        return Finding(what="files", state="ok", message="only their owner reads the store's files")
    if exposed or (is_open and mode & 0o022):
        message = "other users of this machine may read or replace the store's files"
    else:
        message = f"other users of this machine may look into the folder of the store, {folder}"
    return Finding(
        what="files",
        state="warning",
        message=message,
        advice=f"Take their rights: {' && '.join(commands)}",
    )


def _failed(what: str, error: TenutoError) -> Finding:
    known = CATALOGUE.get(error.code)
    advice = error.advice or (known.advice if known is not None else "")
    if error.code == _NO_SERVER:
        advice = "See whether the service runs, and whether the address is right."
    return Finding(
        what=what,
        state="problem",
        message=f"{error.code}  {error.message}",
        advice=advice,
        exit_code=exits.exit_code(error),
    )
