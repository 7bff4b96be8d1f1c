"""What ten clusters cost beside one with as many groups: time and memory of whole processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.cluster_process import start_clusters
from tests.fakes.cluster_profiles import ClusterProfiles

TEN = [f"c{number}" for number in range(10)]
_ROUND_TRIP_MS = 20
_RUNS = 5
# The peak memory of a process begins with that of its parent, so a small process is its parent instead of pytest.
_MEASURE = """
import resource, subprocess, sys, time
with open(sys.argv[1], "wb") as output:
    started = time.monotonic()
    code = subprocess.run(sys.argv[2:], stdout=output, stderr=subprocess.DEVNULL).returncode
print(code, time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Cost(NamedTuple):
    """The time of a process and its peak memory."""

    seconds: float
    peak_kib: int


class Directories(NamedTuple):
    """Directories with the profile of one cluster, and with those of ten that have as many groups together."""

    one: Path
    ten: Path

    def cost_of(self, directory: Path, *command: str) -> Cost:
        """Run a command on all clusters of a directory."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
        clusters = ("--profile", "one") if directory is self.one else ("--all-profiles",)
        program = (sys.executable, "-m", "kafka_groups", *command, *clusters, "--timeout", "120s")
        completed = subprocess.run(
            [sys.executable, "-c", _MEASURE, str(directory / "output"), *program],
            env={**inherited, "XDG_CONFIG_HOME": str(directory)},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        code, seconds, peak_kib = completed.stdout.split()
        assert int(code) == 0
        return Cost(float(seconds), int(peak_kib))


@contextmanager
def clusters_of(groups: int, directory: Path, *, delay_ms: float) -> Iterator[Directories]:
    directories = Directories(directory / "one", directory / "ten")
    with (
        start_clusters(["one"], groups=groups, delay_ms=delay_ms) as one,
        start_clusters(TEN, groups=groups // 10, delay_ms=delay_ms) as ten,
    ):
        for path, names, addresses in ((directories.one, ["one"], one), (directories.ten, TEN, ten)):
            path.mkdir()
            profiles = ClusterProfiles(path)
            for name, address in zip(names, addresses, strict=True):
                profiles.add(name, address)
        yield directories


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directories]:
    with clusters_of(1_000, tmp_path_factory.mktemp("thousand"), delay_ms=_ROUND_TRIP_MS) as directories:
        yield directories


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directories]:
    with clusters_of(65_000, tmp_path_factory.mktemp("many"), delay_ms=0) as directories:
        yield directories


@pytest.mark.timed
@pytest.mark.parametrize("command", [("list",), ("describe", "--all-groups"), ("lag",)])
def test_ten_clusters_take_at_most_half_as_long_again(thousand: Directories, command: tuple[str, ...]) -> None:
    one: list[float] = []
    ten: list[float] = []
    for _ in range(_RUNS):
        one.append(thousand.cost_of(thousand.one, *command).seconds)
        ten.append(thousand.cost_of(thousand.ten, *command).seconds)
    assert statistics.median(ten) <= 1.5 * statistics.median(one)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("list",), ("describe", "--all-groups")])
def test_ten_clusters_need_at_most_a_tenth_more_memory(many: Directories, command: tuple[str, ...]) -> None:
    one = many.cost_of(many.one, *command).peak_kib
    assert many.cost_of(many.ten, *command).peak_kib <= 1.1 * one
