"""A pytest plugin for a whole run: the directory of its brokers, its processes, and the distribution of its tests.

A run is one pytest process, or with pytest-xdist a controller and its workers. The controller creates the directory and
the id of the run; workers receive them. At the end of a run, also of an interrupted or terminated one, the controller
kills every process that inherited the id.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from kafka_groups.files import write_atomically

# Every process that a run starts inherits this variable. Tests remove variables named KAFKA_GROUPS_* from commands, so
# it has another prefix.
_RUN_ID: Final = "TEST_RUN_OF_KAFKA_GROUPS"
_DIRECTORY = pytest.StashKey[Path]()
_SIGTERM_BEFORE = pytest.StashKey[Any]()
_END_S: Final = 20
_GROUPS_FILE: Final = "groups.json"

# The fixture of a cluster, of a broker or of tables, and the group of the modules that use it. A group runs on one
# worker. Groups start in this order: the longest first.
_GROUPS: Final = {
    # Tests compare whole listings of these clusters, so no other test may change them at the same time.
    "cluster": "clusters",
    "kafka_2_8": "clusters",
    "kafka_2_5": "clusters",
    # Real groups are started once for each worker that needs them.
    "real_groups": "kinds",
    # The build of these tables takes half a minute.
    "filled": "tables",
    # Tests change rights and the retention of the only broker that has users.
    "secured": "secured",
}


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


@pytest.fixture(scope="session")
def run_directory(pytestconfig: pytest.Config) -> Path:
    """Return a directory that all processes of the run share; it is deleted at the end of the run."""
    return pytestconfig.stash[_DIRECTORY]


def pytest_configure(config: pytest.Config) -> None:
    """Set the id of the run, and make SIGTERM tear down its fixtures, as Ctrl-C does."""
    if is_worker(config):
        config.stash[_DIRECTORY] = Path(config.workerinput["run_directory"])  # type: ignore[attr-defined]  # set by pytest-xdist
        return
    config.stash[_DIRECTORY] = Path(tempfile.mkdtemp(prefix="kafka-groups-tests-"))
    os.environ[_RUN_ID] = config.stash[_DIRECTORY].name
    config.stash[_SIGTERM_BEFORE] = signal.signal(signal.SIGTERM, _interrupt)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the directory of the run to a worker."""
    node.workerinput["run_directory"] = str(node.config.stash[_DIRECTORY])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Kill the processes that still run after the fixtures were torn down and the workers ended."""
    directory = config.stash.get(_DIRECTORY, None)
    if is_worker(config) or directory is None:
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        _end_processes(directory.name)
        shutil.rmtree(directory, ignore_errors=True)
    finally:
        os.environ.pop(_RUN_ID, None)
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, config.stash[_SIGTERM_BEFORE])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the modules for the scheduler, and write the groups of modules to a file."""
    if not is_worker(config):
        return
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(_module(item.nodeid), []).append(item)
    groups = {name: group for name, tests in modules.items() if (group := _group(tests))}
    # All workers write the same content, each before it reports its tests to the controller.
    write_atomically(config.stash[_DIRECTORY] / _GROUPS_FILE, json.dumps(groups))
    # Sorting is stable: tests of a module stay together, and modules of a group follow each other.
    ranks = {name: _rank(tests) for name, tests in modules.items()}
    items.sort(key=lambda item: ranks[_module(item.nodeid)])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return the scheduler of `--dist loadgroup`: pytest-xdist's loadscope, with the groups of modules as its scopes.

    Marks `xdist_group` would be enough, but pytest-xdist 3.8 does not find them with pytest 9.2 (its issue 1386).
    """
    from xdist.scheduler import LoadScopeScheduling

    if config.getvalue("dist") != "loadgroup":
        return None

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
        @cached_property
        def _groups(self) -> dict[str, str]:
            groups: dict[str, str] = json.loads((config.stash[_DIRECTORY] / _GROUPS_FILE).read_text())
            return groups

        def _split_scope(self, nodeid: str) -> str:
            return self._groups.get(_module(nodeid), _module(nodeid))

    return GroupScheduling(config, log)


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _group(tests: Sequence[pytest.Item]) -> str | None:
    used = {name for item in tests for name in getattr(item, "fixturenames", ())}
    return next((group for fixture, group in _GROUPS.items() if fixture in used), None)


def _rank(tests: Sequence[pytest.Item]) -> int:
    """Return the position of a module in the queue: the longest modules first, so that short ones end the run."""
    if (group := _group(tests)) is not None:
        return list(_GROUPS.values()).index(group)
    marks = {mark.name for item in tests for mark in item.iter_markers()}
    return len(_GROUPS) + (0 if {"spark", "live"} <= marks else 1 if "spark" in marks else 2 if "live" in marks else 3)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _end_processes(run_id: str) -> None:
    import psutil

    remaining = [
        process for process in psutil.process_iter() if process.pid != os.getpid() and _belongs_to(process, run_id)
    ]
    for process in remaining:
        process.kill()
    for process in psutil.wait_procs(remaining, timeout=_END_S)[1]:
        sys.stderr.write(f"STILL RUNNING: {process}\n")


def _belongs_to(process: Any, run_id: str) -> bool:
    import psutil

    try:
        return bool(process.environ().get(_RUN_ID) == run_id)
    except (psutil.Error, OSError):  # the process has ended, or belongs to another user
        return False
