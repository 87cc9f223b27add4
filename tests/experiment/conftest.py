"""Stored runs, for what reports on them."""

import shutil

import pytest

from airfeel.reports import runs
from stored import store_some, unsealed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return store_some(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def one(folder, tmp_path):
    """A copy of one run, the only one in its folder, to be changed."""
    return unsealed(shutil.copytree(folder / "tcs-h-0", tmp_path / "a"))


@pytest.fixture
def groups(folder):
    return runs.load([folder])[0]
