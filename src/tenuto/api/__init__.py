"""The service: the workspace over HTTP."""
