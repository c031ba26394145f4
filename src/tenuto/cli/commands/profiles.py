"""`tenuto config set`, `use`, `list` and `remove`: named servers."""

from __future__ import annotations

from typing import Annotated

import typer

from tenuto.cli.commands.group import KEY_HELP
from tenuto.cli.commands.options import Output, perform
from tenuto.cli.commands.service import config

Name = Annotated[str, typer.Argument(metavar="NAME", help="The profile, such as prod.")]


@config.command("list")
def list_profiles(*, output: Output = "table") -> None:
    """List the profiles: named servers; keys are not shown."""

    async def work() -> int:
        from tenuto.cli import exits
        from tenuto.cli.profiles import profiles_file, read_profiles
        from tenuto.cli.views.tables import table_of
        from tenuto.cli.views.terminal import say, say_command, show, show_json

        found = read_profiles(profiles_file())
        names = sorted(found.profiles)
        rows = {
            name: {
                "server": found.profiles[name].server,
                "hasKey": found.profiles[name].key is not None,
                "isUsed": name == found.used,
            }
            for name in names
        }
        if output == "json":
            show_json(rows)
        elif not rows:
            say("no profiles; to make one:")
            say_command("tenuto config set prod --server https://tenuto.example.com")
        else:
            cells = [
                [
                    "*" if row["isUsed"] else "",
                    name,
                    str(row["server"]),
                    "yes" if row["hasKey"] else "no",
                ]
                for name, row in rows.items()
            ]
            show(table_of(["used", "profile", "server", "key"], cells, whole=2))
        return exits.DONE

    perform(work, output)


@config.command("set")
def set_profile(
    name: Name,
    *,
    server: Annotated[
        str, typer.Option("--server", metavar="URL", help="Its server; several with commas.")
    ],
    api_key: Annotated[
        str | None,
        typer.Option("--api-key", envvar="TENUTO_KEY", metavar="KEY", help=KEY_HELP),
    ] = None,
    output: Output = "table",
) -> None:
    """Make or change a profile: a name for a server and the API key for it.

    TENUTO_KEY=... tenuto config set prod --server https://tenuto.example.com
    """

    async def work() -> int:
        from msgspec.structs import replace

        from tenuto.cli import exits
        from tenuto.cli.profiles import Profile, profiles_file, read_profiles, write_profiles
        from tenuto.cli.views.terminal import say, say_command, show_json
        from tenuto.cli.worker import checked_servers

        checked_servers(server)
        file = profiles_file()
        found = read_profiles(file)
        made = {**found.profiles, name: Profile(server, api_key)}
        write_profiles(file, replace(found, profiles=made))
        if output == "json":
            show_json({"profile": name, "server": server, "hasKey": api_key is not None})
            return exits.DONE
        say(f"profile {name} is {server}, {'with' if api_key else 'without'} a key")
        if found.used != name:
            say("  To use it for every command that names no other place:")
            say_command(f"tenuto config use {name}")
        return exits.DONE

    perform(work, output)


@config.command("use")
def use_profile(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The profile; none: no profile.")
    ] = None,
    *,
    output: Output = "table",
) -> None:
    """Let commands act on a profile, where no store and no server is named or found.

    Without a name no profile is used any more. TENUTO_PROFILE chooses for one shell.

    tenuto config use prod
    """

    async def work() -> int:
        from msgspec.structs import replace

        from tenuto.cli import exits
        from tenuto.cli.profiles import named, profiles_file, read_profiles, write_profiles
        from tenuto.cli.views.terminal import say, show_json

        file = profiles_file()
        found = read_profiles(file)
        server = None if name is None else named(found, name).server
        write_profiles(file, replace(found, used=name))
        if output == "json":
            show_json({"profile": name, "server": server})
        else:
            say("no profile is used" if name is None else f"using profile {name}: {server}")
        return exits.DONE

    perform(work, output)


@config.command("remove")
def remove_profile(name: Name, *, output: Output = "table") -> None:
    """Remove a profile and its key.

    tenuto config remove prod
    """

    async def work() -> int:
        from msgspec.structs import replace

        from tenuto.cli import exits
        from tenuto.cli.profiles import named, profiles_file, read_profiles, write_profiles
        from tenuto.cli.views.terminal import say, show_json

        file = profiles_file()
        found = read_profiles(file)
        named(found, name)
        left = {each: row for each, row in found.profiles.items() if each != name}
        used = None if found.used == name else found.used
        write_profiles(file, replace(found, profiles=left, used=used))
        if output == "json":
            show_json({"profile": name, "isRemoved": True})
        else:
            say(f"profile {name} is removed")
        return exits.DONE

    perform(work, output)
