"""Log ends of the past: what requests for each time would return, day by day."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.errors import ConnectionFailedError
from kafka_groups.pipeline.facts import backfill as backfills
from kafka_groups.pipeline.facts.decode.conversions import topic_id_text
from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest, plain
from tests.fakes.scripted_cluster import ScriptedCluster, topic_id
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.facts.backfill.backfills import (
    DAY_MS,
    MIDNIGHT_MS,
    MINUTE_MS,
    by_asking_each,
    denied,
    reported,
    rows_of,
    run,
    without_deleted,
)


def test_a_backfill_requests_topics_and_log_ends_and_nothing_about_groups(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    """So it needs no right to a group."""
    run(cluster, storage)
    requested = {request.api for broker in cluster.brokers.values() for request in broker.received}
    assert requested == {"ApiVersions", "Metadata", "ListOffsets"}


def test_a_day_has_the_response_for_each_time_with_few_lookups(cluster: ScriptedCluster, storage: Storage) -> None:
    done = run(cluster, storage)

    times = range(MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS, MINUTE_MS)
    for (topic, partition), start in {("busy", 0): 0, ("busy", 1): 40, ("quiet", 0): 0}.items():
        expected = by_asking_each(cluster.records[topic, partition], start, times)
        assert reported(storage, topic, partition) == without_deleted(expected, start, MINUTE_MS)
    # busy-1 has a record since three o'clock, and had others before.
    assert (done.partitions, done.times, done.rows, done.failures) == (3, 1_440, 4_320 - 180, [])
    assert done.deleted == 180
    row = rows_of(storage)[0]
    assert (row["cluster_id"], row["origin"], str(row["date"])) == ("scripted", "backfill", "2026-09-04")
    assert row["topic_id"] == topic_id_text(topic_id("busy").bytes)
    assert (row["log_start_offset"], row["last_stable_offset"]) == (None, None)

    asked = [
        (topic["name"], row["partition_index"], row["timestamp"])
        for each in cluster.requests_of("ListOffsets")
        for topic in each.body["topics"]
        for row in topic["partitions"]
        if row["timestamp"] >= 0
    ]
    assert len(asked) == len(set(asked)) == done.lookups
    # busy-0 has records in each of its 584 minutes, and busy-1 has 800 of them: their minutes have to be looked up.
    assert done.lookups < 1_400 < 4_320 / 3
    assert [each for each in asked if each[0] == "quiet"] == [("quiet", 0, 0), ("quiet", 0, MIDNIGHT_MS)]


def test_requests_carry_many_partitions(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.topics = {"wide": dict.fromkeys(range(50), 1)}
    for partition in range(50):
        cluster.records["wide", partition] = [MIDNIGHT_MS + 1_000 * number for number in range(1_800)]
    done = run(cluster, storage, until_ms=MIDNIGHT_MS + 1_799_000)

    assert done.lookups == 50 * 30
    # For ends, and for the first records, which are the responses for midnight, too.
    assert cluster.requests() == {"Metadata": 1, "ListOffsets": 1 + 1 + 29}


def test_days_have_files_of_their_own_and_look_ups_are_not_repeated(cluster: ScriptedCluster, storage: Storage) -> None:
    done = run(cluster, storage, since_ms=MIDNIGHT_MS - 2 * DAY_MS + 1, until_ms=MIDNIGHT_MS + MINUTE_MS)

    found = storage.files(PARTITION_OFFSETS)
    assert [each.date for each in found] == ["2026-09-02", "2026-09-03", "2026-09-04"]
    assert (done.days, [each.rows for each in found][-1]) == (3, 2 + 2)
    # One a partition for its first record, which is the response for all days of busy-1, and for all but one time of
    # busy-0; one more for quiet, whose records are older.
    assert done.lookups == 3 + 1 + 1
    # Multiples of the step, whatever the first time is.
    times = range(MIDNIGHT_MS - 2 * DAY_MS + MINUTE_MS, MIDNIGHT_MS + MINUTE_MS + 1, MINUTE_MS)
    assert reported(storage, "busy", 0) == by_asking_each(cluster.records["busy", 0], 0, times)


def test_only_named_topics_are_requested_and_an_absent_one_is_reported(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    cluster.records["__internal", 0] = [MIDNIGHT_MS - 9] * 3
    done = run(cluster, storage, topics=["__internal", "absent", "quiet", "bsuy"], until_ms=MIDNIGHT_MS)

    assert [(row["topic"], row["log_end_offset"], row["lookup_offset"]) for row in rows_of(storage)] == [
        ("__internal", 3, None),
        ("quiet", 2, None),
    ]
    why = "the topic or partition does not exist"
    assert [(failure.topic, failure.name, failure.message) for failure in done.failures] == [
        ("absent", "UNKNOWN_TOPIC_OR_PARTITION", why),
        ("bsuy", "UNKNOWN_TOPIC_OR_PARTITION", f"{why}; did you mean 'busy'?"),
    ]


def test_a_partition_that_fails_is_reported_once_and_the_others_go_on(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    cluster.script("ListOffsets", plain, *[denied] * 9, brokers=[2])
    done = run(cluster, storage, until_ms=MIDNIGHT_MS + 2 * DAY_MS, step_ms=10 * MINUTE_MS)

    assert [(failure.topic, failure.partition, failure.code) for failure in done.failures] == [("busy", 1, 29)]
    assert {(row["topic"], row["partition"]) for row in rows_of(storage)} == {("busy", 0), ("quiet", 0)}
    assert done.rows == 2 * (2 * 144 + 1)


def test_partitions_are_looked_up_in_parts_to_bound_memory(
    cluster: ScriptedCluster, storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(cluster, storage, step_ms=10 * MINUTE_MS)
    before = rows_of(storage)
    monkeypatch.setattr(backfills, "_ROWS_IN_MEMORY", 150)
    monkeypatch.setattr(backfills, "_LOOKUPS_PER_CALL", 9)

    other = new_storage(tmp_path / "other")
    assert run(cluster, other, step_ms=10 * MINUTE_MS).rows == whole.rows
    assert rows_of(other) == before


def test_past_log_ends_of_an_emptied_log_are_unknown(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.topics = {"emptied": {0: 1}, "new": {0: 1}}
    cluster.ends = {("emptied", 0): 500, ("new", 0): 0}
    cluster.starts = {("emptied", 0): 500}
    done = run(cluster, storage, until_ms=MIDNIGHT_MS + MINUTE_MS)

    assert (reported(storage, "emptied", 0), done.deleted, done.lookups) == ([], 2, 2)
    assert [row[1:] for row in reported(storage, "new", 0)] == [(0, None, None)] * 2


def test_times_before_a_record_with_a_future_timestamp_have_no_log_end(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    """The third record has a timestamp of an hour ahead: it is the response for all times from the second one's on."""
    cluster.topics = {"odd": {0: 1}}
    ahead_ms = MIDNIGHT_MS + 60 * MINUTE_MS
    cluster.records["odd", 0] = [
        MIDNIGHT_MS,
        MIDNIGHT_MS + 1,
        ahead_ms,
        *(MIDNIGHT_MS + MINUTE_MS + at for at in range(9)),
    ]
    until_ms = MIDNIGHT_MS + 2 * MINUTE_MS
    done = run(cluster, storage, until_ms=until_ms, now_ms=until_ms)

    times = (MIDNIGHT_MS + MINUTE_MS, until_ms)
    assert reported(storage, "odd", 0) == [(MIDNIGHT_MS, 0, 0, MIDNIGHT_MS), *((at, None, None, None) for at in times)]
    assert (done.ahead, done.deleted) == (2, 0)
    again = run(cluster, storage, until_ms=until_ms, now_ms=ahead_ms + 1)
    assert (again.ahead, len(reported(storage, "odd", 0))) == (0, 3)


def test_a_record_written_during_a_lookup_changes_no_log_end(cluster: ScriptedCluster, storage: Storage) -> None:
    """Of an idle topic, it would be the response for all of the time."""
    cluster.topics = {"idle": {0: 1}}
    records = cluster.records["idle", 0] = [MIDNIGHT_MS - DAY_MS] * 8
    until_ms = MIDNIGHT_MS + 2 * MINUTE_MS

    def grow(_asked: ReceivedRequest, answer: Struct) -> Struct:
        records.append(until_ms + DAY_MS)
        return answer

    cluster.script("ListOffsets", grow)
    done = run(cluster, storage, until_ms=until_ms, now_ms=until_ms)

    assert [row[1:] for row in reported(storage, "idle", 0)] == [(8, None, None)] * 3
    assert (done.ahead, len(records)) == (0, 9)


def test_log_ends_before_the_first_record_of_a_compacted_log_are_unknown(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    """A compacted log starts at 0 whatever its first record is; only a look-up finds that."""
    cluster.topics = {"compacted": {0: 1}}
    cluster.records["compacted", 0] = [-1] * 57 + [MIDNIGHT_MS + 90_000] * 3
    run(cluster, storage, until_ms=MIDNIGHT_MS + 2 * MINUTE_MS)

    assert [row[1:] for row in reported(storage, "compacted", 0)] == [
        (None, 57, MIDNIGHT_MS + 90_000),
        (60, None, None),
    ]


def test_the_directory_is_made_once_the_cluster_can_be_reached(cluster: ScriptedCluster, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "new"), create=True)
    with ScriptedCluster() as stopped:
        for number in stopped.brokers:
            stopped.stop(number)
        with pytest.raises(ConnectionFailedError):
            run(stopped, storage, until_ms=MIDNIGHT_MS)
    assert [*tmp_path.iterdir()] == []

    assert run(cluster, storage, until_ms=MIDNIGHT_MS).cluster_id == "scripted"
    assert (tmp_path / "new" / "kafka-groups-pipeline.json").is_file()


def test_progress_ends_with_all_rows(cluster: ScriptedCluster, storage: Storage) -> None:
    steps: list[tuple[str, int, int]] = []
    run(
        cluster,
        storage,
        until_ms=MIDNIGHT_MS + DAY_MS,
        step_ms=10 * MINUTE_MS,
        progress=lambda *step: steps.append(step),
    )

    assert {(what, total) for what, _, total in steps} == {("backfilling", 3 * 145)}
    done = [done for _, done, _ in steps]
    assert done == sorted(done)
    assert done[-1] == 3 * 145


@pytest.mark.parametrize(("since", "until", "step"), [(-1, 8, 1), (9, 8, 1), (0, 8, 0), (1, 8, 10)])
def test_a_backfill_of_an_empty_period_or_without_a_step_is_refused(
    cluster: ScriptedCluster, storage: Storage, since: int, until: int, step: int
) -> None:
    with pytest.raises(ValueError, match="a step greater than 0"):
        run(cluster, storage, since_ms=since, until_ms=until, step_ms=step)
