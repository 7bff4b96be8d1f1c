"""Sentences of reports and builds: findings, data gaps and missing data, by cluster and day, in UTC."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.store import Storage
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends, event, new_storage, put_all

START: Final = int(NOON.timestamp() * 1_000)
MINUTE, HOUR, DAY = 60, 3_600, 86_400
MIDNIGHT: Final = 12 * HOUR


def of(cluster: str, rows: Iterable[Row]) -> list[Row]:
    return [row | {"cluster_id": cluster} for row in rows]


def report_until(storage: Storage, seconds: int, *, since: int = 0) -> History:
    """Return a report until these seconds after noon."""
    return read_history(storage, since_ms=START + since * 1_000, until_ms=START + seconds * 1_000)


@pytest.fixture
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the machine be in a time zone other than UTC."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_new_york")
def test_dates_are_utc_whatever_the_readers_zone_is(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    idle = [commit(-2 * DAY - 11 * HOUR, 7, source=1, group="idle"), commit(0, 1, source=2, group="young")]
    put_all(storage, "b", {"offset_commits": idle, "partition_offsets": [ends(at, 3, topic="u") for at in (0, 60)]})
    build_here(storage)

    assert [finding.message for finding in report_until(storage, HOUR).findings] == [
        "Group idle: no commit in 24 hours, and no member seen on 2026-11-20; its last commit was on 2026-11-18.",
        (
            "Topic u: no group has a commit on it at the end of 2026-11-20 (of the 7 days until then), "
            "and no known member reads it; 0 records were written between the first and the last observation "
            "of that day."
        ),
    ]


def test_all_findings_and_all_gaps_are_reported(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    idle = [commit(-3 * DAY, 1, source=at, group=f"g{at:03}") for at in range(120)]
    gaps = [
        {"cluster_id": "c", "source_partition": at % 50, "first_offset": at * 10, "last_offset": at * 10 + 5}
        | {"missing": 6, "reason": "deleted", "found_at": NOON}
        for at in range(80)
    ]
    young = [commit(0, 1, source=999, group="young", cluster_id=cluster) for cluster in "cd"]
    gaps += [gaps[0] | {"cluster_id": "d"}, gaps[1] | {"reason": "compacted"}]
    put_all(storage, "b", {"offset_commits": [*idle, *young], "ingest_gaps": gaps})
    build_here(storage)

    reported = report_until(storage, HOUR)
    assert (len(reported.findings), len(reported.gaps)) == (120, 82)
    deleted = "partition 0 of __consumer_offsets: 6 offsets from 0 to 5 were deleted before they were read."
    assert {f"Cluster {cluster}: {deleted}" for cluster in "cd"} < set(reported.gaps)
    assert reported.gaps[-1].startswith("Cluster c: 6 offsets of __consumer_offsets had no record")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    """The log start of t rises by 300 an hour. A group lost records of u, and caught up before midnight."""
    storage = new_storage(tmp_path_factory.mktemp("night"))
    commits = [
        commit(MIDNIGHT - 3 * HOUR, 1_300, source=1),
        commit(MIDNIGHT - 3 * HOUR, 100, source=2, group="lost", topic="u"),
        commit(MIDNIGHT - 5 * MINUTE, 900, source=3, group="lost", topic="u"),
        commit(MIDNIGHT - 3 * HOUR, 100, source=4, group="gone", topic="u"),
        commit(MIDNIGHT - 2 * HOUR, None, source=5, group="gone", topic="u"),
    ]
    removal = event(MIDNIGHT - 2 * HOUR, "group_removed", "GroupMetadata", source=6, group="gone", is_tombstone=True)
    runs = range(0, 3 * HOUR + 1_201, 600)
    began = MIDNIGHT - 3 * HOUR
    logs = [ends(began + at, 5_000, start=at // 12) for at in runs]
    logs += [ends(began + at, 5_000, start=500, topic="u") for at in runs]
    put_all(storage, "b", {"offset_commits": commits, "partition_offsets": logs, "group_events": [removal]})
    build_here(storage)
    return storage


def test_losses_and_forecasts_are_reported_after_midnight(night: Storage) -> None:
    def at_risk(seconds: int) -> list[str]:
        found = report_until(night, seconds, since=seconds - DAY).findings
        return [finding.message for finding in found if finding.kind == "retention_risk"]

    assert at_risk(MIDNIGHT - MINUTE) == [
        "Group g: at the day's rates the log start passes its commit in 1.5 hours.",
        "Group lost: its commit is 400 records below the log start offset; it can no longer read them.",
    ]
    assert at_risk(MIDNIGHT + 20 * MINUTE) == [
        "Group g: at the rates of 2026-11-20 the log start passes its commit in 1.2 hours.",
        "Group lost: on 2026-11-20 its commit was 400 records below the log start offset; it can no longer read them.",
    ]


def test_a_loss_before_the_period_is_no_part_of_it(night: Storage) -> None:
    found = report_until(night, MIDNIGHT + 20 * MINUTE, since=MIDNIGHT + 10 * MINUTE).findings
    assert [finding.message for finding in found if finding.kind == "retention_risk"] == [
        "Group g: at the rates of 2026-11-20 the log start passes its commit in 1.2 hours."
    ]


def test_a_day_that_is_not_built_has_no_finding(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    began = MIDNIGHT - 3 * HOUR
    logs = [ends(began + at, 5_000, start=at // 12) for at in range(0, 3 * HOUR, 600)]
    put_all(storage, "b", {"offset_commits": [commit(began, 1_300, source=1)], "partition_offsets": logs})
    build_here(storage)
    assert report_until(storage, MIDNIGHT - MINUTE).findings
    later = event(MIDNIGHT + HOUR, "generation", "GroupMetadata", source=2)
    put_all(storage, "later", {"group_events": [later]})
    reported = report_until(storage, MIDNIGHT + 2 * HOUR, since=MIDNIGHT)
    assert ([group.group for group in reported.groups], reported.findings) == (["g"], ())


def test_a_group_removed_before_the_period_has_no_finding(night: Storage) -> None:
    reported = report_until(night, MIDNIGHT - MINUTE, since=MIDNIGHT - HOUR)
    assert {finding.group for finding in reported.findings if finding.kind == "retention_risk"} == {"g", "lost"}
    assert "gone" not in {group.group for group in reported.groups}


def test_missing_data_is_reported_with_its_cluster(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    runs = range(0, 20 * MINUTE, MINUTE)
    commits = [*of("a", [commit(at, at, source=1 + at) for at in runs]), *of("b", [commit(at, 1) for at in runs])]
    # The newest dates do not show all that was read. Of `c` no group has had a rebalance, and that is known.
    commits += of("c", [commit(-4 * DAY, 1, source=1), commit(0, 1)])
    logs = [row for cluster in "ab" for row in of(cluster, [ends(at, 5) for at in runs])]
    member = event(0, "generation", "GroupMetadata", source=9_000, epoch=1, members=[{"member_id": "m"}])
    put_all(storage, "all", {"offset_commits": commits, "partition_offsets": logs, "group_events": of("a", [member])})

    built = build_here(storage)

    sentences = [sentence.partition(": ")[::2] for sentence in built.missing if sentence.startswith("Cluster ")]
    assert [(cluster, sentence.partition(":")[0]) for cluster, sentence in sentences] == [
        ("Cluster b", "no commits were read from __consumer_offsets"),
        ("Cluster b", "no group records were read from __consumer_offsets"),
        ("Cluster c", "no log end offsets were sampled or backfilled"),
    ]
    assert "No group states were sampled: states of KIP-848 groups are unknown." in built.missing
    unknown = (
        "the time lag of 1 group is unknown for a part of the period, because no log end offset is known from "
        "before their commits: g."
    )
    assert report_until(storage, 20 * MINUTE).missing == (
        "Cluster c: the tables have no lag for this period; run sample or backfill, then build.",
        f"Cluster a: {unknown}",
        f"Cluster b: {unknown}",
        (
            "Cluster b: no commits were read from __consumer_offsets: "
            "verdicts are derived from samples, and rebalances are unknown."
        ),
    )


def test_build_and_report_print_until_when_ingest_read(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    runs = range(0, 41 * MINUTE, MINUTE)
    commits = [commit(30 * MINUTE, 5, source=1, cluster_id="behind"), commit(30 * MINUTE + 1, 5, source=1)]
    logs = [row for cluster, last in (("behind", 41), ("c", 40)) for row in of(cluster, map(end_at, runs[:last]))]
    logs.append(ends(40 * MINUTE + 1, 9, cluster_id="behind"))
    put_all(storage, "all", {"offset_commits": commits, "partition_offsets": logs})

    sentence = (
        "Cluster behind: the last record that was read from __consumer_offsets was written at 2026-11-20T12:30Z, and "
        "the last sample was taken at 2026-11-20T12:40Z: commits in between, if there are any, are known from samples "
        "only, until ingest runs again."
    )
    built = build_here(storage).missing
    reported = report_until(storage, 41 * MINUTE).missing
    assert [each for each in built if "last record" in each] == [each for each in reported if "last record" in each]
    assert sentence in reported


def end_at(seconds: int) -> Row:
    return ends(seconds, 9)


def test_share_groups_have_no_time_lag(tmp_path: Path) -> None:
    share = {"cluster_id": "c", "group": "s", "topic": "t", "partition": 0, "observed_at": at(60)}
    joined = event(0, "group_epoch", "ShareGroupMetadata", source=1, group="s", epoch=2)
    storage = new_storage(tmp_path)
    facts = {
        "share_offsets": [share | {"start_offset": 5, "lag": 3}],
        "partition_offsets": [ends(60, 12)],
        "group_events": [joined],
    }
    put_all(storage, "b", facts)
    build_here(storage)
    start_ms = int(at(0).timestamp() * 1_000)
    reported = read_history(storage, since_ms=start_ms, until_ms=start_ms + 120_000)
    assert [(group.group, group.lag, group.rule, group.time_lag_ms) for group in reported.groups] == [
        ("s", 3, "out_of_order", None)
    ]
    assert "The time lag of share groups is not measured: s." in reported.missing
    assert not any("before their commits" in sentence for sentence in reported.missing)
