"""The web UI: serves the built files of `ui/`, which `make ui` writes into `assets`."""
