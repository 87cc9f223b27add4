"""Shapes and types in signatures are executed in every test; being slow is no failure."""

import os
import signal

import pytest
from hypothesis import settings

from typecheck import install

settings.register_profile("airfeel", deadline=None)
settings.load_profile("airfeel")
install("airfeel")

# Read by pytest as what they are, and not once more as modules with doctests: all have one name.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]

# Commands that tests start are stopped by signals, which a background job of a shell would ignore.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory):
    """Keys of users are kept in a folder of the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
