"""What many groups cost, measured on the whole process and against real sockets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.scripted_cluster import Group, ScriptedCluster

GROUPS = 10_000
PARTITIONS = 12
_MIB_IN_KIB = 1024


@pytest.fixture(scope="module")
def crowded() -> Iterator[ScriptedCluster]:
    commits = {("orders", partition): partition for partition in range(PARTITIONS)}
    groups = {
        f"group-{number:05d}": Group(coordinator=1 + number % 3, state="Empty", commits=commits)
        for number in range(GROUPS)
    }
    leaders = {partition: 1 + partition % 3 for partition in range(PARTITIONS)}
    with ScriptedCluster(brokers=3, groups=groups, topics={"orders": leaders}) as cluster:
        yield cluster


# A process's peak begins with that of the one that started it, so a small one stands between it and pytest.
_MEASURE = """
import resource, subprocess, sys
with open(sys.argv[1], "wb") as output:
    code = subprocess.run(sys.argv[2:], stdout=output, stderr=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def _run_to_file(cluster: ScriptedCluster, output: Path, *arguments: str) -> tuple[int, int]:
    """The exit code and the peak memory, in KiB, of a whole process."""
    command = [sys.executable, "-m", "kafka_groups", *arguments, "-b", str(cluster.addresses[1])]
    measured = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(output), *command], capture_output=True, text=True, check=True, timeout=120
    )
    code, peak = measured.stdout.split()
    return int(code), int(peak)


@pytest.mark.parametrize("output_format", ["table", "json"])
def test_describing_ten_thousand_groups_stays_under_150_mib(
    crowded: ScriptedCluster, tmp_path: Path, output_format: str
) -> None:
    output = tmp_path / "output"
    code, peak_kib = _run_to_file(crowded, output, "describe", "--all-groups", "--format", output_format)
    assert (code, output.read_text().count("orders")) == (0, GROUPS * PARTITIONS)
    assert 10 * _MIB_IN_KIB < peak_kib < 150 * _MIB_IN_KIB


def test_describing_ten_thousand_groups_takes_thirteen_requests(crowded: ScriptedCluster, tmp_path: Path) -> None:
    before = crowded.requests()
    _run_to_file(crowded, tmp_path / "output", "describe", "--all-groups")
    assert crowded.requests() - before == {"ListGroups": 3, "OffsetFetch": 6, "Metadata": 1, "ListOffsets": 3}
