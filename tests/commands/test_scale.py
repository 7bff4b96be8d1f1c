"""What many groups cost, measured on the whole process and against real sockets."""

from __future__ import annotations

import os
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


def _run_to_file(cluster: ScriptedCluster, output: Path, *arguments: str) -> tuple[int, int]:
    """The exit code and the peak memory, in KiB, of a whole process."""
    command = [sys.executable, "-m", "kafka_groups", *arguments, "-b", str(cluster.addresses[1])]
    to_file = [
        (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    child = os.posix_spawn(sys.executable, command, os.environ, file_actions=to_file)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss


@pytest.mark.parametrize("output_format", ["table", "json"])
def test_describing_ten_thousand_groups_stays_under_150_mib(
    crowded: ScriptedCluster, tmp_path: Path, output_format: str
) -> None:
    output = tmp_path / "output"
    code, peak_kib = _run_to_file(crowded, output, "describe", "--all-groups", "--format", output_format)
    assert (code, output.read_text().count("orders")) == (0, GROUPS * PARTITIONS)
    assert peak_kib < 150 * _MIB_IN_KIB


def test_describing_ten_thousand_groups_takes_thirteen_requests(crowded: ScriptedCluster, tmp_path: Path) -> None:
    before = crowded.requests()
    _run_to_file(crowded, tmp_path / "output", "describe", "--all-groups")
    assert crowded.requests() - before == {"ListGroups": 3, "OffsetFetch": 6, "Metadata": 1, "ListOffsets": 3}
