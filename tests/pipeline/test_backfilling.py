"""Log ends of the past: what asking for each time would tell, with far fewer look-ups; day by day, again the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.admin import Point
from kafka_groups.pipeline import backfilling
from kafka_groups.pipeline.backfilling import Backfilled, _Search, backfill
from kafka_groups.pipeline.records.texts import topic_id_text
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from tests.fakes.scripted_cluster import ScriptedCluster, topic_id

DAY_MS = 86_400_000
MIDNIGHT_MS = 20_700 * DAY_MS  # 2026-09-04
MINUTE_MS = 60_000
TOPICS = {"busy": {0: 1, 1: 2}, "quiet": {0: 3}, "__internal": {0: 1}}
# (offset, log end) of a record; None where there is none
Told = tuple[int, int | None]


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(str(tmp_path / "tables"), create=True)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with ScriptedCluster(topics=TOPICS, starts={("busy", 1): 40}) as found:
        found.records["busy", 0] = [MIDNIGHT_MS + 7_000 * number for number in range(5_000)]
        found.records["busy", 1] = [MIDNIGHT_MS + 3 * 3_600_000 + 90_000 * number for number in range(800)]
        found.records["quiet", 0] = [MIDNIGHT_MS - 5 * DAY_MS, MIDNIGHT_MS - 4 * DAY_MS]
        yield found


def run(cluster: ScriptedCluster, storage: Storage, **asked: Any) -> Backfilled:
    wanted = {"since_ms": MIDNIGHT_MS, "until_ms": MIDNIGHT_MS + DAY_MS - 1, "step_ms": MINUTE_MS, "topics": None}
    with cluster.admin() as admin:
        return backfill(admin, storage, cluster_id="scripted", **{**wanted, **asked})


def rows_of(storage: Storage) -> list[dict[str, Any]]:
    table = ds.dataset(storage.path(PARTITION_OFFSETS), partitioning="hive").to_table()
    rows: list[dict[str, Any]] = table.to_pylist()
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["observed_at"]))


def told(storage: Storage, topic: str, partition: int) -> list[tuple[int, int, int | None, int | None]]:
    """Time, log end, and the point, of each row."""
    return [
        (
            _ms(row["observed_at"]),
            row["log_end_offset"],
            row["point_offset"],
            row["point_time"] and _ms(row["point_time"]),
        )
        for row in rows_of(storage)
        if (row["topic"], row["partition"]) == (topic, partition)
    ]


def _ms(time: Any) -> int:
    return round(time.timestamp() * 1000)


def by_asking_each(records: Sequence[int], start: int, times: range) -> list[tuple[int, int, int | None, int | None]]:
    """What a broker says of each time, without any cleverness."""
    rows: list[tuple[int, int, int | None, int | None]] = []
    for time in times:
        found = next((place for place in enumerate(records, start) if place[1] >= time), None)
        rows.append((time, start + len(records), None, None) if found is None else (time, found[0], *found))
    return rows


def answers(search: _Search, records: Sequence[int], start: int, times: range) -> int:
    """Answer all that the search wants to know; how much that was."""
    asked = 0
    while wanted := search.wanted_times():
        for time in wanted:
            asked += 1
            found = next((place for place in enumerate(records, start) if place[1] >= time), None)
            search.take(times.index(time), None if found is None else Point(*found))
    return asked


def of_search(search: _Search, times: range) -> list[tuple[int, int, int | None, int | None]]:
    never = 2**63 - 1
    return [
        (time, int(offset), None, None) if point == never else (time, int(offset), int(offset), int(point))
        for time, offset, point in zip(times, search.offsets, search.points, strict=True)
    ]


@given(
    records=st.lists(st.integers(0, 300), max_size=60),
    in_order=st.booleans(),
    start=st.integers(0, 9),
    since=st.integers(0, 100),
    steps=st.integers(1, 90),
    step=st.integers(1, 7),
)
def test_a_search_finds_what_asking_for_each_time_would(
    records: list[int], start: int, since: int, steps: int, step: int, *, in_order: bool
) -> None:
    records = sorted(records) if in_order else records
    grid = range(since, since + steps * step, step)
    days = [grid[: steps // 2 + 1], grid[steps // 2 + 1 :]]
    last: Point | None = None
    asked = 0
    found = []
    for times in days:
        if times:
            search = _Search(times, start + len(records), last)
            asked += answers(search, records, start, times)
            assert search.known == len(times)
            found += of_search(search, times)
            last = search.last()
    assert found == by_asking_each(records, start, grid)
    assert asked <= len(grid)


def test_a_quiet_partition_costs_one_look_up_for_a_year_of_minutes() -> None:
    records = [5, 6, 10**12]
    times = range(1_000, 1_000 + 365 * 1_440 * MINUTE_MS, MINUTE_MS)
    assert answers(_Search(times, 3, None), records, 0, times) == 1


def test_a_few_records_cost_hardly_more_look_ups_than_they_are() -> None:
    records = [20_000 * number for number in (3, 17, 18, 400, 1_300)]
    times = range(0, DAY_MS // 3, 20_000)
    assert answers(_Search(times, len(records), None), records, 0, times) <= len(records)


def test_rows_of_a_day_are_what_each_time_would_be_answered_with(cluster: ScriptedCluster, storage: Storage) -> None:
    done = run(cluster, storage)

    times = range(MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS, MINUTE_MS)
    for (topic, partition), start in {("busy", 0): 0, ("busy", 1): 40, ("quiet", 0): 0}.items():
        expected = by_asking_each(cluster.records[topic, partition], start, times)
        assert told(storage, topic, partition) == expected
    assert (done.partitions, done.times, done.rows, done.failures) == (3, 1_440, 4_320, [])
    assert done.batches[0].startswith("backfill-20260904T000000Z-60000ms-1440-")
    row = rows_of(storage)[0]
    assert (row["cluster_id"], row["origin"], str(row["date"])) == ("scripted", "backfill", "2026-09-04")
    assert row["topic_id"] == topic_id_text(topic_id("busy").bytes)
    assert (row["log_start_offset"], row["last_stable_offset"]) == (None, None)


def test_quiet_times_are_not_asked_about(cluster: ScriptedCluster, storage: Storage) -> None:
    done = run(cluster, storage)

    asked = [
        (topic["name"], row["partition_index"], row["timestamp"])
        for each in cluster.asked("ListOffsets")
        for topic in each.body["topics"]
        for row in topic["partitions"]
        if row["timestamp"] >= 0
    ]
    assert len(asked) == len(set(asked)) == done.look_ups
    # busy-0 has records in each of its 584 minutes, and busy-1 has 800 of them: their minutes have to be asked about.
    assert done.look_ups < 1_400 < 4_320 / 3
    assert [each for each in asked if each[0] == "quiet"] == [("quiet", 0, MIDNIGHT_MS)]


def test_requests_carry_many_partitions(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.topics = {"wide": dict.fromkeys(range(50), 1)}
    for partition in range(50):
        cluster.records["wide", partition] = [MIDNIGHT_MS + 1_000 * number for number in range(1_800)]
    done = run(cluster, storage, until_ms=MIDNIGHT_MS + 1_799_000)

    assert done.look_ups == 50 * 30
    assert cluster.requests() == {"Metadata": 1, "ListOffsets": 1 + 30}


def test_days_are_batches_of_their_own_and_look_ups_are_not_repeated(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    done = run(cluster, storage, since_ms=MIDNIGHT_MS - 2 * DAY_MS + 1, until_ms=MIDNIGHT_MS + MINUTE_MS)

    assert [batch.split("-")[1:4] for batch in done.batches] == [
        ["20260902T000000Z", "60000ms", "1440"],
        ["20260903T000000Z", "60000ms", "1440"],
        ["20260904T000000Z", "60000ms", "1"],
    ]
    found = storage.batches(PARTITION_OFFSETS)
    assert [(each.date, each.batch) for each in found] == list(
        zip(["2026-09-02", "2026-09-03", "2026-09-04"], done.batches, strict=True)
    )
    assert done.look_ups == 4  # one a partition, for the day in which busy-0 begins one more
    times = range(MIDNIGHT_MS - 2 * DAY_MS + 1, MIDNIGHT_MS + MINUTE_MS + 1, MINUTE_MS)
    assert told(storage, "busy", 0) == by_asking_each(cluster.records["busy", 0], 0, times)


def test_the_same_grid_again_replaces_itself(cluster: ScriptedCluster, storage: Storage) -> None:
    first = run(cluster, storage)
    before = rows_of(storage)
    again = run(cluster, storage)

    assert again.batches == first.batches
    assert rows_of(storage) == before


@pytest.mark.parametrize("other", [{"topics": ["quiet"]}, {"step_ms": 30_000}, {"since_ms": MIDNIGHT_MS + 1}])
def test_another_grid_replaces_nothing(cluster: ScriptedCluster, storage: Storage, other: dict[str, Any]) -> None:
    first = run(cluster, storage)
    second = run(cluster, storage, **other)

    assert not {*first.batches} & {*second.batches}
    assert len(rows_of(storage)) == first.rows + second.rows


def test_another_cluster_replaces_nothing(cluster: ScriptedCluster, storage: Storage) -> None:
    first = run(cluster, storage)
    with cluster.admin() as admin:
        second = backfill(
            admin, storage, cluster_id="b", since_ms=MIDNIGHT_MS, until_ms=MIDNIGHT_MS + DAY_MS - 1, step_ms=MINUTE_MS
        )

    assert len(rows_of(storage)) == first.rows + second.rows


def test_named_topics_alone_are_asked_about_and_an_absent_one_is_told(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    done = run(cluster, storage, topics=["__internal", "absent", "quiet"], until_ms=MIDNIGHT_MS)

    assert [(row["topic"], row["log_end_offset"], row["point_offset"]) for row in rows_of(storage)] == [
        ("__internal", 100, None),
        ("quiet", 2, None),
    ]
    assert [(failure.topic, failure.name) for failure in done.failures] == [("absent", "UNKNOWN_TOPIC_OR_PARTITION")]


def test_a_partition_that_fails_is_told_once_and_the_others_go_on(cluster: ScriptedCluster, storage: Storage) -> None:
    def refuse(_asked: Any, answer: Any) -> Any:
        return {
            "topics": [
                {**topic, "partitions": [{**row, "error_code": 29} for row in topic["partitions"]]}
                for topic in answer["topics"]
            ]
        }

    def plain(_asked: Any, answer: Any) -> Any:
        return answer

    cluster.script("ListOffsets", plain, *[refuse] * 9, brokers=[2])
    done = run(cluster, storage, until_ms=MIDNIGHT_MS + 2 * DAY_MS)

    assert [(failure.topic, failure.partition, failure.code) for failure in done.failures] == [("busy", 1, 29)]
    assert {(row["topic"], row["partition"]) for row in rows_of(storage)} == {("busy", 0), ("quiet", 0)}
    assert done.rows == 2 * (2 * 1_440 + 1)


def test_memory_is_bounded_by_taking_some_partitions_after_others(
    cluster: ScriptedCluster, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(cluster, storage)
    before = rows_of(storage)
    monkeypatch.setattr(backfilling, "_ROWS_AT_ONCE", 1_500)
    monkeypatch.setattr(backfilling, "_LOOK_UPS_AT_ONCE", 90)

    assert run(cluster, storage).rows == whole.rows
    assert rows_of(storage) == before


def test_progress_ends_with_all_rows(cluster: ScriptedCluster, storage: Storage) -> None:
    steps: list[tuple[str, int, int]] = []
    run(cluster, storage, until_ms=MIDNIGHT_MS + DAY_MS, progress=lambda *step: steps.append(step))

    assert {(what, total) for what, _, total in steps} == {("backfilling", 3 * 1_441)}
    done = [done for _, done, _ in steps]
    assert done == sorted(done)
    assert done[-1] == 3 * 1_441


@pytest.mark.parametrize(("since", "until", "step"), [(-1, 8, 1), (9, 8, 1), (0, 8, 0)])
def test_a_backfill_of_no_time_is_refused(
    cluster: ScriptedCluster, storage: Storage, since: int, until: int, step: int
) -> None:
    with pytest.raises(ValueError, match="step above zero"):
        run(cluster, storage, since_ms=since, until_ms=until, step_ms=step)


def test_a_crash_in_the_second_day_leaves_the_first(
    cluster: ScriptedCluster, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = storage.publish

    def once(batch: str, files: Any) -> None:
        publish(batch, files)
        monkeypatch.setattr(storage, "publish", _fail)

    monkeypatch.setattr(storage, "publish", once)
    with pytest.raises(KeyboardInterrupt):
        run(cluster, storage, until_ms=MIDNIGHT_MS + 2 * DAY_MS)
    assert {each.date for each in storage.batches(PARTITION_OFFSETS)} == {"2026-09-04"}


def _fail(*_: object) -> None:
    raise KeyboardInterrupt
