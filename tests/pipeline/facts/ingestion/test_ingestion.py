"""Runs of an ingest: their batches, and their end if Spark ends or brokers do not respond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.errors import PipelineError, SourceError, StorageError, UnreachableError
from kafka_groups.pipeline.facts.ingest_tasks import Batch
from kafka_groups.pipeline.facts.ingestion import Ingestion
from kafka_groups.pipeline.facts.source.brokers import Topic
from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.facts.source.table_positions import commit_batch, read_position
from kafka_groups.pipeline.store import NewFile, Storage
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.pipeline.store.commits import commits, count_rows, written

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture(autouse=True)
def run_batch(storage: Storage, mocker: MockerFixture) -> Any:
    """Replace the jobs of Spark; each returns a file with five rows."""
    mocker.patch("kafka_groups.pipeline.facts.ingestion.count_cores", return_value=2)
    made = mocker.patch("kafka_groups.pipeline.facts.ingestion.run_batch")
    made.side_effect = lambda *_: written(storage, commits(range(5)))
    return made


def ranges_of(call: Any) -> tuple[dict[int, int], dict[int, int]]:
    """Return where the ranges of a batch start and end, by partition."""
    batch: Batch = call.args[1]
    ranges = [wanted for task in batch.tasks for wanted in task]
    return {one.partition: one.start for one in ranges}, {one.partition: one.end for one in ranges}


@pytest.fixture
def brokers(mocker: MockerFixture) -> Any:
    """Brokers with two partitions of ten records each."""
    made = mocker.Mock()
    made.topic.return_value = Topic("id", [0, 1])
    made.end_position.return_value = Position("id", {0: 10, 1: 10})
    made.log_start_offsets.return_value = {0: 0, 1: 0}
    return made


@pytest.fixture
def ingestion(storage: Storage, brokers: Any) -> Ingestion:
    """A run without a cluster."""
    return Ingestion(storage, {}, brokers, "c", 0.01)


def commit(ingestion: Ingestion, end: Position) -> None:
    """Commit an empty batch, as another program does."""
    storage = ingestion.storage
    commit_batch(storage, [], "c", read_position(storage, "c", end.topic_id, end.next_offsets), end)


def test_a_jvm_that_ends_after_a_stop_request_is_no_error(ingestion: Ingestion, run_batch: Any, mocker: Any) -> None:
    stop_requests = iter([False, False, True, True])
    run_batch.side_effect = PipelineError("Answer from Java side is empty")
    assert ingestion.run(mocker.Mock(), should_stop=lambda: next(stop_requests)).batches == 0


def test_a_jvm_that_ends_by_itself_is_an_error(ingestion: Ingestion, run_batch: Any, mocker: Any) -> None:
    run_batch.side_effect = PipelineError("Answer from Java side is empty")
    with pytest.raises(PipelineError, match="Answer from Java side is empty"):
        ingestion.run(mocker.Mock())


def test_a_run_reads_batches_up_to_the_end_at_its_start(ingestion: Ingestion, run_batch: Any, mocker: Any) -> None:
    calls: list[tuple[Any, ...]] = []
    done = ingestion.run(mocker.Mock(), records_per_batch=8, progress=lambda *of: calls.append(of))
    starts, ends = zip(*map(ranges_of, run_batch.call_args_list), strict=True)
    assert ends == ({0: 4, 1: 4}, {0: 8, 1: 8}, {0: 10, 1: 10})
    assert starts == ({0: 0, 1: 0}, *ends[:-1])
    assert (done.batches, done.records, done.rows) == (3, 15, {"offset_commits": 15})
    assert calls == [("ingesting", number, 20) for number in (0, 8, 16, 20)]


def test_an_interrupted_batch_is_not_committed(ingestion: Ingestion, run_batch: Any, mocker: Any) -> None:
    run_batch.side_effect = lambda *_: None
    assert ingestion.run(mocker.Mock()).batches == 0


def test_a_continuous_run_goes_on_after_unreachable_brokers(ingestion: Ingestion, brokers: Any, mocker: Any) -> None:
    notes: list[str] = []
    brokers.end_position.side_effect = [
        UnreachableError("away"),
        UnreachableError("still away"),
        Position("id", {0: 10, 1: 10}),
    ]

    done = ingestion.run(
        mocker.Mock(),
        continuous=True,
        interval_s=0.0,
        print_note=notes.append,
        should_stop=lambda: brokers.end_position.call_count == 3,
    )

    assert done.batches == 0
    assert notes == [f"{what}; the next attempt is in 0 s" for what in ("away", "still away")]


def test_a_single_run_ends_with_unreachable_brokers(ingestion: Ingestion, brokers: Any, mocker: Any) -> None:
    brokers.end_position.side_effect = UnreachableError("away")
    with pytest.raises(UnreachableError, match="away"):
        ingestion.run(mocker.Mock())


def test_a_recreated_topic_ends_a_continuous_run(ingestion: Ingestion, brokers: Any, mocker: Any) -> None:
    ingestion.request_end()
    brokers.end_position.return_value = Position("another", {0: 10})
    with pytest.raises(SourceError, match="was recreated: its topic id is another now"):
        ingestion.run(mocker.Mock(), continuous=True)


def test_a_batch_is_not_committed_after_another_program_changed_tables(
    ingestion: Ingestion, run_batch: Any, mocker: Any
) -> None:
    def change(*_: object) -> list[NewFile]:
        commit(ingestion, Position("id", {0: 3, 1: 3}))
        return []

    run_batch.side_effect = change
    with pytest.raises(StorageError, match="was changed by another program meanwhile; it was left as it is"):
        ingestion.run(mocker.Mock())


def test_a_partition_that_is_returned_later_begins_at_its_position(
    ingestion: Ingestion, brokers: Any, run_batch: Any, mocker: Any
) -> None:
    commit(ingestion, Position("id", {0: 3, 1: 4}))
    whole = brokers.end_position.return_value
    brokers.end_position.return_value = Position("id", {0: 10})
    ingestion.request_end()
    brokers.end_position.return_value = whole
    ingestion.run(mocker.Mock())
    assert ranges_of(run_batch.call_args)[0] == {0: 3, 1: 4}


def test_a_run_waits_for_a_topic_that_was_read(ingestion: Ingestion, brokers: Any, mocker: Any) -> None:
    commit(ingestion, Position(None, {0: 3, 1: 4}))
    brokers.end_position.side_effect = [Position(None, {}), Position(None, {}), Position(None, {0: 5, 1: 5})]
    mocker.patch("kafka_groups.pipeline.facts.ingestion._PAUSE_S", 0)
    ingestion.timeout_s = 60
    assert ingestion.request_end().next_offsets == {0: 5, 1: 5}
    assert ingestion._position == Position(None, {0: 3, 1: 4})


def test_a_topic_that_does_not_exist_yet_is_read_by_a_later_run(
    ingestion: Ingestion, brokers: Any, mocker: Any
) -> None:
    there = brokers.end_position.return_value
    brokers.end_position.return_value = Position(None, {})
    ingestion.request_end()
    assert not ingestion.topic_exists
    assert ingestion.run(mocker.Mock()).batches == 0
    brokers.end_position.return_value = there
    assert ingestion.run(mocker.Mock()).batches == 1


def test_a_batch_of_a_topic_recreated_meanwhile_is_not_committed(
    ingestion: Ingestion, brokers: Any, run_batch: Any, mocker: Any
) -> None:
    def recreate(*_: object) -> list[NewFile]:
        brokers.topic.return_value = Topic("another", [0, 1])
        return written(ingestion.storage, commits(range(5)))

    run_batch.side_effect = recreate
    with pytest.raises(SourceError, match="was recreated: its topic id is another now"):
        ingestion.run(mocker.Mock())
    assert count_rows(ingestion.storage, OFFSET_COMMITS) == 0


@pytest.fixture
def killed_batch(ingestion: Ingestion, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the first batch, up to offsets 6 and 8, as a kill before the commit of the last table does."""
    commit_table = DeltaLog.commit

    def die_before_commits(log: DeltaLog, **changes: Any) -> None:
        if log._table == OFFSET_COMMITS:
            raise KeyboardInterrupt
        commit_table(log, **changes)

    with monkeypatch.context() as patch:
        patch.setattr(DeltaLog, "commit", die_before_commits)
        with pytest.raises(KeyboardInterrupt):
            commit(ingestion, Position("id", {0: 6, 1: 8}))


@pytest.mark.usefixtures("killed_batch")
def test_after_a_killed_first_batch_a_run_begins_at_the_log_start(
    ingestion: Ingestion, brokers: Any, run_batch: Any, mocker: Any
) -> None:
    brokers.log_start_offsets.return_value = {0: 4, 1: 7}
    ingestion.run(mocker.Mock())
    assert ranges_of(run_batch.call_args)[0] == {0: 4, 1: 7}


@pytest.mark.usefixtures("killed_batch")
def test_a_log_that_ends_before_the_rows_of_a_table_is_refused(ingestion: Ingestion, brokers: Any) -> None:
    brokers.end_position.return_value = Position("id", {0: 10, 1: 7})
    with pytest.raises(SourceError, match="partition 1 of __consumer_offsets ends at 7, but was read up to offset 8"):
        ingestion.request_end()
