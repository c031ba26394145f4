"""The path of the service's public URL, which a proxy may leave in front of the paths it sends."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from tenuto.api.routes import Routes


class BasePath:
    """A service at `https://example.com/tenuto` has the base path `/tenuto`; others have none."""

    def __init__(self, public_url: str | None, routes: Routes) -> None:
        path = unquote(urlsplit(public_url or "").path).rstrip("/")
        self._path = path
        self._routes = routes

    @property
    def quoted(self) -> str:
        """As addresses have it."""
        return quote(self._path)

    def without(self, path: str) -> str:
        """The path of a request below the base path; most proxies have removed that already."""
        base = self._path
        if not base or not (path == base or path.startswith(f"{base}/")):
            return path
        is_own = self._routes.methods_at(path) or self._routes.find("WEBSOCKET", path)
        if is_own:
            # Of a base path `/api`, which a proxy has removed: this is the service's own.
            return path
        return path.removeprefix(base) or "/"
