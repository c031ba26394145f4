"""Sockets and streams: instances as they go, for those who watch over HTTP."""
