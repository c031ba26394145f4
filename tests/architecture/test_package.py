"""What anyone can say about the package once it is installed."""

from __future__ import annotations

from importlib import metadata, resources

import tenuto


def test_the_installed_version_is_the_one_the_package_names() -> None:
    assert metadata.version("tenuto") == tenuto.__version__


def test_the_package_says_that_it_is_typed() -> None:
    assert resources.files(tenuto).joinpath("py.typed").is_file()
