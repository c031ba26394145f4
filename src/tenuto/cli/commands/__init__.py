"""The commands; `tenuto.cli.program` puts them together."""
