"""What all tests share: programs that may be missing, and a quick start for a run that starts Spark often."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.class_archive import make_archive

# Some programs of tests are ended by it. A script that starts a run in the background hands down that it is ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Of tests with Spark, some three in ten start one of their own.
_MANY = 60
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


@pytest.fixture(scope="session", autouse=True)
def quick_start(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All Sparks of a long run start with an archive of classes; a short run does without one."""
    if sum(item.get_closest_marker("spark") is not None for item in request.session.items) < _MANY:
        yield
        return
    file = tmp_path_factory.mktemp("classes") / "spark.jsa"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in make_archive(file).items():
            patch.setenv(name, value)
        yield
    file.unlink(missing_ok=True)


def pytest_unconfigure() -> None:
    """Runs after pytest's own last line."""
    for name, tests in _missing.items():
        told = ", ".join(tests)
        sys.stdout.write(f"NOT RUN, because {name} is not installed: {told}\n")
