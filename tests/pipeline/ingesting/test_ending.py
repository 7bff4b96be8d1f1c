"""How an ingest ends whose Spark is gone, and how it does not where brokers are away for a while."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JNetworkError

from kafka_groups.errors import PipelineError, SourceError, UnreachableError, WorkerLateError
from kafka_groups.pipeline.ingesting import Ingestion, _ending
from kafka_groups.pipeline.ingesting.publishing import Publisher, Tally
from kafka_groups.pipeline.session.retrying import retry_until
from kafka_groups.pipeline.storage import open_storage

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


def gone(*_: object) -> Any:
    raise Py4JNetworkError("Answer from Java side is empty")


def test_a_jvm_that_was_ended_together_with_us_is_no_error(mocker: MockerFixture) -> None:
    query = mocker.Mock(stop=mocker.Mock(side_effect=gone))
    with _ending(query, lambda: True):
        gone()
    query.stop.assert_called_once_with()


def test_a_jvm_that_is_gone_by_itself_is_an_error(mocker: MockerFixture) -> None:
    with pytest.raises(PipelineError, match="Answer from Java side is empty"), _ending(mocker.Mock(), lambda: False):
        gone()


def test_a_query_that_does_well_is_stopped(mocker: MockerFixture) -> None:
    query = mocker.Mock()
    with _ending(query, lambda: False):
        pass
    query.stop.assert_called_once_with()


@pytest.fixture
def ingestion(tmp_path: Path, mocker: MockerFixture) -> Ingestion:
    """A run without a cluster, whose queries and looks at the brokers are replaced."""
    storage = open_storage(str(tmp_path / "tables"), create=True)
    made = Ingestion(storage, {}, mocker.Mock(), Tally(storage=storage, cluster_id="c"), "stage", 1)
    mocker.patch.object(made, "look")
    mocker.patch.object(made, "_read")
    return made


def test_a_continuous_run_outlives_brokers_that_are_away(ingestion: Ingestion, mocker: MockerFixture) -> None:
    told: list[str] = []
    read = mocker.patch.object(ingestion, "_read", side_effect=[UnreachableError("away"), None])
    look = mocker.patch.object(ingestion, "look", side_effect=[UnreachableError("still away"), None])

    ingestion.run(mocker.Mock(), continuous=True, every_s=0.01, note=told.append)

    assert [call.args[1] for call in read.call_args_list] == [{"processingTime": "0.01 seconds"}] * 2
    assert look.call_count == 2  # the topic may be another one when they are back
    assert told == [f"{what}; the next attempt is in 0.01 s" for what in ("away", "still away")]


def test_a_run_that_ends_by_itself_does_not_wait_for_brokers(ingestion: Ingestion, mocker: MockerFixture) -> None:
    mocker.patch.object(ingestion, "_read", side_effect=UnreachableError("away"))
    with pytest.raises(UnreachableError, match="away"):
        ingestion.run(mocker.Mock())


@pytest.mark.parametrize("continuous", [False, True])
def test_a_worker_that_is_late_is_started_again(
    ingestion: Ingestion, mocker: MockerFixture, *, continuous: bool
) -> None:
    told: list[str] = []
    tries = 10 if continuous else 3
    read = mocker.patch.object(ingestion, "_read", side_effect=[*[WorkerLateError("late")] * tries, None])

    ingestion.run(mocker.Mock(), continuous=continuous, note=told.append)

    assert read.call_count == tries + 1
    assert told == ["a Python worker of Spark took longer than 10 s to start; retrying"] * tries


def test_a_run_that_ends_by_itself_starts_workers_four_times(ingestion: Ingestion, mocker: MockerFixture) -> None:
    read = mocker.patch.object(ingestion, "_read", side_effect=WorkerLateError("late"))
    with pytest.raises(WorkerLateError, match="late"):
        ingestion.run(mocker.Mock())
    assert read.call_count == 4


def test_what_no_waiting_mends_ends_a_continuous_run_too(ingestion: Ingestion, mocker: MockerFixture) -> None:
    mocker.patch.object(ingestion, "_read", side_effect=SourceError("made anew"))
    with pytest.raises(SourceError, match="made anew"):
        ingestion.run(mocker.Mock(), continuous=True)


def test_brokers_that_are_away_are_not_waited_for_when_the_end_is_asked_for(
    ingestion: Ingestion, mocker: MockerFixture
) -> None:
    mocker.patch.object(ingestion, "_read", side_effect=UnreachableError("away"))
    asked = iter([False, False, True, True])

    done = ingestion.run(mocker.Mock(), continuous=True, every_s=60, stop=lambda: next(asked))

    assert (done.batches, done.rows) == (0, {})


def test_a_batch_that_comes_again_in_the_same_run_counts_once(tmp_path: Path, mocker: MockerFixture) -> None:
    storage = open_storage(str(tmp_path / "tables"), create=True)
    tally = Tally(storage=storage, cluster_id="c")
    publisher = Publisher(storage.into, storage.checkpoint("c"), tally)
    mocker.patch("kafka_groups.pipeline.ingesting.publishing.open_storage", return_value=storage)
    mocker.patch.object(storage, "publish")
    files = [{"table": "offset_commits", "date": "2026-11-01", "path": "p", "rows": 5}]

    for number in (7, 7, 8):
        publisher(mocker.Mock(collect=lambda: files), number)

    assert (tally.total().batches, tally.total().rows, tally.last()) == (2, {"offset_commits": 10}, 8)
    assert Tally(storage=storage, cluster_id="c").total().rows == {}  # another run's


def test_spark_connect_tries_again_until_the_end_is_asked_for(mocker: MockerFixture) -> None:
    import grpc
    from pyspark.sql.connect.session import SparkSession

    class AwayError(grpc.RpcError):  # type: ignore[misc]  # grpc has no types
        def code(self) -> grpc.StatusCode:
            return grpc.StatusCode.UNAVAILABLE

    spark = mocker.create_autospec(SparkSession, instance=True)
    spark.client = mocker.Mock()
    asked = mocker.Mock(return_value=False)
    mocker.patch("kafka_groups.pipeline.session.retrying._is_connected", return_value=True)

    retry_until(spark, asked)
    ((policy,),) = spark.client.set_retry_policies.call_args.args

    assert policy.can_retry(AwayError())
    asked.return_value = True
    assert not policy.can_retry(AwayError())
