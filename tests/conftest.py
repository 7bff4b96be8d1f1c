"""What all tests share: programs that may be missing are named on the last line of the run."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable

import pytest
from hypothesis import settings

# How long an example takes is a matter of the machine, and the first one imports what it needs.
settings.register_profile("kafka-groups", settings.default, deadline=None)
settings.load_profile("kafka-groups")
# Some programs of tests are ended by it. A script that starts a run in the background hands down that it is ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
pytest_plugins = ("tests.browser",)
_missing: dict[str, list[str]] = {}


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The path of a program; a test that needs one that is not there is left out, and the run says so at its end."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            _missing.setdefault(name, []).append(request.node.nodeid)
            pytest.skip(f"{name} is not installed")
        return path

    return find


def pytest_unconfigure() -> None:
    """Runs after pytest's own last line."""
    for name, tests in _missing.items():
        told = ", ".join(tests)
        sys.stdout.write(f"NOT RUN, because {name} is not installed: {told}\n")
