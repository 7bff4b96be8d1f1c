"""Both forms of Kafka's CSV, from this tool to kafka-consumer-groups.sh and back, with unusual group ids."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.live.groups.clients import read_offsets, run_command
from tests.live.groups.members import commit_from_outside
from tests.live.groups.tables import group_options, sorted_blocks
from tests.live.groups.topics import make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = pytest.mark.live

STEMS: Final = (
    "plain",
    "with a blank",
    "with,comma",
    'with "quotes"',
    "grün-日本-🦊",
    "#hash",
    " blanks around ",
    "back\\slash",
)


@pytest.fixture(scope="module")
def topics(cluster: Cluster) -> list[str]:
    return [make_topic(cluster.bootstrap, partitions=2, records=9) for _ in range(2)]


@pytest.fixture(scope="module")
def groups(cluster: Cluster, topics: list[str]) -> list[str]:
    """Return groups with unusual ids, each with commits at other offsets."""
    names = [unique_name(stem) for stem in STEMS]
    for at, name in enumerate(names):
        commit_from_outside(cluster.bootstrap, [name], [(topic, 1, at) for topic in topics])
    return names


def _rows(text: str) -> list[list[str]]:
    return sorted(csv.reader(text.strip("\n").splitlines()))


@pytest.mark.parametrize("several", [False, True], ids=["one group", "several groups"])
def test_a_file_of_this_tool_is_read_by_kafkas_tool(
    cluster: Cluster, kafka_tool: KafkaTool, groups: list[str], tmp_path: Path, several: bool
) -> None:
    selectors = group_options(groups if several else groups[1:2])
    file = str(tmp_path / "offsets.csv")
    planned = run_command(
        *(cluster.bootstrap, "reset", *selectors, "--all-topics", "--shift-by", "1", "--export", file),
        *("--format", "kafka"),
    )
    theirs, _, _ = kafka_tool(cluster, "--reset-offsets", *selectors, "--from-file", file, "--dry-run")
    ours = run_command(cluster.bootstrap, "reset", *selectors, "--from-file", file, "--format", "kafka")

    assert len(planned.out.splitlines()) == (2 + 2 * (len(groups) if several else 1))
    assert sorted_blocks(theirs) == sorted_blocks(planned.out)
    assert ours.out == planned.out
    assert (ours.code, len(_rows(Path(file).read_text())[0])) == (0, 4 if several else 3)


@pytest.mark.parametrize("several", [False, True], ids=["one group", "several groups"])
def test_a_file_of_kafkas_tool_is_read_and_written_alike(
    cluster: Cluster, kafka_tool: KafkaTool, groups: list[str], tmp_path: Path, several: bool
) -> None:
    arguments = [*group_options(groups if several else groups[1:2]), "--all-topics", "--shift-by", "1"]
    theirs, _, _ = kafka_tool(cluster, "--reset-offsets", *arguments, "--export", "--dry-run")
    ours = run_command(cluster.bootstrap, "reset", *arguments, "--export", "-")
    planned = run_command(cluster.bootstrap, "reset", *arguments, "--format", "kafka")
    file = tmp_path / "offsets.csv"
    file.write_text(theirs)
    read = run_command(
        *(cluster.bootstrap, "reset", *([] if several else arguments[:2])),
        *("--from-file", str(file), "--format", "kafka"),
    )

    assert sorted(ours.out.splitlines()) == sorted(theirs.strip("\n").splitlines())
    assert (read.out, read.code) == (planned.out, 0)


def test_offsets_of_a_file_are_committed(cluster: Cluster, topics: list[str], tmp_path: Path) -> None:
    names = [unique_name(stem) for stem in STEMS]
    commit_from_outside(cluster.bootstrap, names, [(topics[0], 0, 9)])
    file = tmp_path / "offsets.csv"
    with file.open("w", newline="") as lines:
        csv.writer(lines).writerows((name, topics[0], 0, at) for at, name in enumerate(names))
    result = run_command(
        cluster.bootstrap, "reset", "--from-file", str(file), "--execute", "--yes", "--format", "json", home=tmp_path
    )

    assert result.code == 0, result.err
    found = [read_offsets(cluster.bootstrap, name) for name in names]
    assert found == [{(topics[0], 0): at} for at in range(len(names))]
    assert {row["status"] for group in result.json["groups"] for row in group["offsets"]} == {"done"}


def test_a_plan_is_refused_where_the_commit_has_moved(cluster: Cluster, topics: list[str], tmp_path: Path) -> None:
    name, file = unique_name("planned"), str(tmp_path / "plan.json")
    commit_from_outside(cluster.bootstrap, [name], [(topics[0], 0, 3), (topics[0], 1, 3)])
    run_command(cluster.bootstrap, "reset", name, "--all-topics", "--to-latest", "--export", file)
    commit_from_outside(cluster.bootstrap, [name], [(topics[0], 1, 4)])
    execute = ("reset", "--from-file", file, "--execute", "--yes")

    refused = run_command(cluster.bootstrap, *execute, home=tmp_path)
    assert read_offsets(cluster.bootstrap, name) == {(topics[0], 0): 9, (topics[0], 1): 4}
    forced = run_command(cluster.bootstrap, *execute, "--force", home=tmp_path)
    assert read_offsets(cluster.bootstrap, name) == {(topics[0], 0): 9, (topics[0], 1): 9}
    assert "its commit has changed since the plan, from 3 to 4" in refused.err
    assert (refused.code, forced.code) == (3, 0)


def test_a_plan_of_another_cluster_changes_nothing(
    cluster: Cluster, kafka_2_8: Cluster, topics: list[str], tmp_path: Path
) -> None:
    name, file = unique_name("planned"), str(tmp_path / "plan.json")
    commit_from_outside(cluster.bootstrap, [name], [(topics[0], 0, 3)])
    run_command(cluster.bootstrap, "reset", name, "--all-topics", "--to-latest", "--export", file)
    result = run_command(kafka_2_8.bootstrap, "reset", "--from-file", file, "--execute", "--yes", home=tmp_path)

    assert f"{file} is a plan of cluster " in result.err
    assert (result.out, read_offsets(kafka_2_8.bootstrap, name)) == ("", {})
    assert result.code in (1, 2)
