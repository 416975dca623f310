"""A model that a real server opens in moments."""

from __future__ import annotations

import pytest

from toy_server import write_toy_folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with the toy model."""
    return write_toy_folder(tmp_path_factory.mktemp("toy"))
