"""Plans of `reset` compared with the dry run of kafka-consumer-groups.sh, byte for byte with `--format kafka`.

The order of groups is not compared: Java's is that of a hash table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from tests.live.groups.clients import run_command
from tests.live.groups.members import commit_from_outside, empty, stable
from tests.live.groups.tables import group_options, sorted_blocks, sorted_words
from tests.live.groups.topics import delete_records, fill_at, make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = pytest.mark.live

HOUR_MS: Final = 3_600_000
RECORDS: Final = 10
# Kafka's tool starts a JVM for each call.
PARALLEL_CALLS: Final = 2

# Arguments of both tools. Groups: {a}, {b} and {c}; topics: {t} with records of two times, {o}; {x} is between them.
CASES: Final[Mapping[str, str]] = {
    "to an offset": "{a} {b} --topic {t} --to-offset 7",
    "to an offset beyond the log end": "{a} --topic {t}:1 --to-offset 1000",
    "to an offset before the log start": "{a} --topic {t}:0 --topic {o} --to-offset 0",
    "to earliest, all topics": "{a} {b} {c} --all-topics --to-earliest",
    "to latest, several topics": "{a} {b} --topic {t}:0,1 --topic {o}:0 --to-latest",
    "to current, all topics": "{a} {b} {c} --all-topics --to-current",
    "to current without a commit": "{a} --topic {t} --to-current",
    "shift forward": "{a} {b} --all-topics --shift-by 2",
    "shift back": "{a} {c} --all-topics --shift-by -1",
    "shift beyond the log end": "{a} {b} {c} --all-topics --shift-by 1000",
    "shift before the log start": "{a} {b} {c} --all-topics --shift-by -1000",
    "to a time without zone, between two batches": "{a} --topic {t} --to-datetime {x}",
    "to a time with zone, between two batches": "{a} --topic {t} --to-datetime {x_with_zone}",
    "to a time after all records": "{a} --all-topics --to-datetime {after}",
    "by duration, between two batches": "{a} {b} --topic {t} --by-duration PT90M",
    "an absent group": "{absent} --topic {t} --to-offset 5",
    "all groups": "--all-groups --topic {o} --to-earliest",
}


class Plans(NamedTuple):
    """The arguments of each case, and what Kafka's tool printed for them."""

    arguments: Mapping[str, list[str]]
    theirs: Mapping[str, str]


@pytest.fixture(scope="module")
def names(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the groups, topics and times of the cases."""
    bootstrap = cluster.bootstrap
    now_ms = time.time_ns() // 1_000_000
    topic, other = make_topic(bootstrap, partitions=3), make_topic(bootstrap, records=5)
    for age_ms in (2 * HOUR_MS, HOUR_MS):
        fill_at(bootstrap, topic, partitions=3, records=RECORDS, time_ms=now_ms - age_ms)
    delete_records(bootstrap, topic, 0, before=4)
    spaced, simple = unique_name("with a blank"), unique_name("a-simple-group-with-a-long-name")
    commit_from_outside(bootstrap, [spaced], [(topic, 0, 6), (topic, 2, 19)])
    commit_from_outside(bootstrap, [simple], [(topic, 1, 20), (other, 0, 2)])
    between = datetime.fromtimestamp((now_ms - 1.5 * HOUR_MS) / 1000, UTC)
    after = datetime.fromtimestamp((now_ms - 1000) / 1000, UTC)
    zone = timezone(timedelta(hours=5, minutes=30))
    # The other topic's records are of the time of this fixture; `after` is a second before it.
    with empty(bootstrap, topic, other, commits=[(topic, 0, 5), (topic, 1, 12), (other, 0, 3)]) as member_left:
        yield {
            "a": member_left,
            "b": spaced,
            "c": simple,
            "t": topic,
            "o": other,
            "x": _without_zone(between),
            "x_with_zone": between.astimezone(zone).isoformat(timespec="milliseconds"),
            "after": _without_zone(after),
            "absent": unique_name("absent"),
        }


@pytest.fixture(scope="module")
def plans(cluster: Cluster, kafka_tool: KafkaTool, names: dict[str, str]) -> Plans:
    """Return what Kafka's tool prints for all cases."""
    arguments = {case: _arguments(text, names) for case, text in CASES.items()}
    with ThreadPoolExecutor(PARALLEL_CALLS) as pool:
        outputs = pool.map(lambda each: kafka_tool(cluster, "--reset-offsets", *each, "--dry-run"), arguments.values())
        theirs = dict(zip(arguments, (out for out, _, _ in outputs), strict=True))
    return Plans(arguments, theirs)


def _without_zone(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")


def _arguments(text: str, names: Mapping[str, str]) -> list[str]:
    words = [word.format_map(names) if word != "--all-groups" else word for word in text.split()]
    groups = [word for at, word in enumerate(words) if text.split()[at] in ("{a}", "{b}", "{c}", "{absent}")]
    return [*group_options(groups), *(word for word in words if word not in groups)]


def _without_warnings(text: str) -> str:
    """Return the output of Kafka's tool without the warnings that it prints above the table."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("Warn: "))


@pytest.mark.parametrize("case", CASES)
def test_a_plan_is_that_of_kafkas_tool(cluster: Cluster, plans: Plans, case: str) -> None:
    # Kafka's tool takes consumer groups only, and creates an absent group without being asked.
    more = {"an absent group": ["--create"], "all groups": ["--exclude", "(share|streams)-.*"]}.get(case, [])
    ours = run_command(cluster.bootstrap, "reset", *plans.arguments[case], *more, "--format", "kafka")

    assert len(sorted_words(ours.out)) > 1
    assert sorted_blocks(ours.out) == sorted_blocks(_without_warnings(plans.theirs[case]))
    assert (ours.out[0], ours.code) == ("\n", 0)


def test_the_table_has_the_rows_of_kafkas_tool(cluster: Cluster, plans: Plans) -> None:
    case = "to earliest, all topics"
    ours = run_command(cluster.bootstrap, "reset", *plans.arguments[case], "--format", "csv")

    columns = [0, 1, 2, 4]
    rows = sorted([line.split(",")[at] for at in columns] for line in ours.out.splitlines()[1:])
    theirs = [row for row in plans.theirs[case].splitlines() if row and not row.startswith("GROUP")]
    assert sorted(" ".join(row).split() for row in rows) == sorted(row.split() for row in theirs)


def test_a_shift_without_a_commit_is_refused_where_kafkas_tool_stops(
    cluster: Cluster, kafka_tool: KafkaTool, names: dict[str, str]
) -> None:
    arguments = [*group_options([names["a"]]), "--topic", names["t"], "--shift-by", "1"]
    _, theirs, _ = kafka_tool(cluster, "--reset-offsets", *arguments, "--dry-run")
    ours = run_command(cluster.bootstrap, "reset", *arguments, "--format", "json")

    (group,) = ours.json["groups"]
    assert f"Cannot shift offset for partition {names['t']}-2 since there is no current committed offset" in theirs
    assert [(row["partition"], row["new_offset"]) for row in group["offsets"]] == [(0, 6), (1, 13), (2, None)]
    assert [(error["topic"], error["partition"]) for error in ours.json["errors"]] == [(names["t"], 2)]
    assert ours.code == 3


def test_an_active_group_is_reported_beside_the_plan_of_the_others(
    cluster: Cluster, kafka_tool: KafkaTool, names: dict[str, str]
) -> None:
    with stable(cluster.bootstrap, names["o"]) as active:
        arguments = [*group_options([names["a"], active]), "--topic", names["o"], "--to-latest"]
        theirs, _, _ = kafka_tool(cluster, "--reset-offsets", *arguments, "--dry-run")
        ours = run_command(cluster.bootstrap, "reset", *arguments, "--format", "kafka")
        alone = run_command(cluster.bootstrap, "reset", active, "--topic", names["o"], "--to-latest")

    error, rows = theirs.strip("\n").split("\n\n", 1)
    assert f"if the group '{active}' is inactive, but the current state is Stable" in error
    assert sorted_blocks(ours.out) == sorted_blocks(rows)
    assert f"Error: group '{active}': it is Stable with 1 member on 127.0.0.1; stop its consumers first" in ours.err
    assert (ours.code, alone.out, alone.code) == (3, "", 1)


def test_an_empty_partition_falls_back_to_its_log_end_for_a_time(
    cluster: Cluster, kafka_tool: KafkaTool, names: dict[str, str]
) -> None:
    topic = make_topic(cluster.bootstrap)
    arguments = [*group_options([names["a"]]), "--topic", topic, "--by-duration", "PT1M"]
    theirs, _, _ = kafka_tool(cluster, "--reset-offsets", *arguments, "--dry-run")
    ours = run_command(cluster.bootstrap, "reset", *arguments, "--format", "kafka")
    table = run_command(cluster.bootstrap, "reset", *arguments, "--format", "json")

    warning, rows = theirs.strip("\n").split("\n\n", 1)
    assert warning == f"Warn: Partition 0 from topic {topic} is empty. Falling back to latest known offset."
    assert sorted_blocks(ours.out) == sorted_blocks(rows)
    note = table.json["groups"][0]["offsets"][0]["note"]
    assert note == "no record since then: log end offset, no commit before, empty partition"
