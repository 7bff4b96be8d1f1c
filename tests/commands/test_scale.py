"""The memory and the requests of many groups, measured on a whole process and with real sockets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = pytest.mark.slow
GROUPS = 10_000
PARTITIONS = 12
_MIB_IN_KIB = 1024


@pytest.fixture(scope="module")
def cluster() -> Iterator[ScriptedCluster]:
    commits = {("orders", partition): partition for partition in range(PARTITIONS)}
    groups = {
        f"group-{number:05d}": Group(coordinator=1 + number % 3, state="Empty", commits=commits)
        for number in range(GROUPS)
    }
    leaders = {partition: 1 + partition % 3 for partition in range(PARTITIONS)}
    with ScriptedCluster(brokers=3, groups=groups, topics={"orders": leaders}) as cluster:
        yield cluster


# The peak memory of a process begins with that of its parent, so a small process is its parent instead of pytest.
_MEASURE = """
import resource, subprocess, sys
with open(sys.argv[1], "wb") as output:
    code = subprocess.run(sys.argv[2:], stdout=output, stderr=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def _run_to_file(cluster: ScriptedCluster, output: Path, *arguments: str) -> tuple[int, int]:
    """Run the command with its stdout in a file, and return its exit code and its peak memory in KiB."""
    command = [sys.executable, "-m", "kafka_groups", *arguments, "-b", str(cluster.addresses[1])]
    completed = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(output), *command], capture_output=True, text=True, check=True, timeout=120
    )
    code, peak = completed.stdout.split()
    return int(code), int(peak)


@pytest.mark.parametrize("output_format", ["table", "json"])
def test_describe_of_ten_thousand_groups_needs_less_than_150_mib(
    cluster: ScriptedCluster, tmp_path: Path, output_format: str
) -> None:
    output = tmp_path / "output"
    code, peak_kib = _run_to_file(cluster, output, "describe", "--all-groups", "--format", output_format)
    assert (code, output.read_text().count("orders")) == (0, GROUPS * PARTITIONS)
    assert 10 * _MIB_IN_KIB < peak_kib < 150 * _MIB_IN_KIB


def test_describe_of_ten_thousand_groups_sends_thirteen_requests(cluster: ScriptedCluster, tmp_path: Path) -> None:
    before = cluster.requests()
    _run_to_file(cluster, tmp_path / "output", "describe", "--all-groups")
    assert cluster.requests() - before == {"ListGroups": 3, "OffsetFetch": 6, "Metadata": 1, "ListOffsets": 3}
