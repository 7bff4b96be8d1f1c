"""Settings and fixtures of all tests. The last lines of a run name the tests that were not run, with the reason."""

from __future__ import annotations

import gc
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from hypothesis import settings

# The time of an example depends on the machine, and the first one imports modules.
settings.register_profile("kafka-groups", settings.default, deadline=None)
settings.load_profile("kafka-groups")
# Tests end some programs with SIGINT and SIGHUP. A run that a script starts in the background inherits that SIGINT is
# ignored, and one that `nohup` starts that SIGHUP is.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
pytest_plugins = ("tests.browser", "tests.commands.several_clusters", "tests.runs", "tests.spark_archive")
_NOT_INSTALLED: Final = " is not installed"
_missing = pytest.StashKey[dict[str, list[str]]]()


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """Write files without waiting until they are on the disk: no machine stops here, and it takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _descriptor: None)
        yield


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """Return a function that finds a program's path, or skips the test if the program is not installed."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(name + _NOT_INSTALLED)
        return path

    return find


def pytest_collection_finish() -> None:
    """Keep the ten thousand collected tests out of the garbage collector: commands search for cycles at each poll."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Collect the tests of all workers that were skipped because a program is not installed."""
    missing = config.stash.setdefault(_missing, {})
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if reason.endswith(_NOT_INSTALLED):
            missing.setdefault(reason, []).append(report.nodeid)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print the tests that were not run, below pytest's own last line."""
    if hasattr(config, "workerinput") or config.option.collectonly:  # a worker of pytest-xdist prints nothing
        return
    for reason, tests in sorted(config.stash.get(_missing, {}).items()):
        sys.stdout.write(f"NOT RUN, because {reason}: {', '.join(sorted(tests))}\n")
    if (expression := config.option.markexpr) and expression in config.getini("addopts"):
        left_out = "tests that need brokers or Spark, that are slow, or that measure time"
        sys.stdout.write(f"NOT RUN, because only `{expression}` was selected: {left_out}\n")
