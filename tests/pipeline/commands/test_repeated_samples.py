"""sample --interval: samples that fail, a directory that is deleted, and the report at the end."""

from __future__ import annotations

import json
from typing import Any

from kafka_groups.errors import ConnectionFailedError, StorageError
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import failure
from tests.pipeline.commands.conftest import FakePipeline

Json = dict[str, Any]


def run_samples(fakes: FakePipeline, data_dir: str, *results: object) -> tuple[Outcome, Json]:
    """Run samples with these results or errors; return the outcome and its document."""
    fakes.sample.side_effect = results
    outcome = run("pipeline", "sample", "--data-dir", data_dir, "--interval", "1ms", "--format", "json")
    return outcome, json.loads(outcome.stdout)


def test_sampling_continues_after_the_cluster_was_unavailable(fakes: FakePipeline, data_dir: str) -> None:
    done = fakes.sample.return_value
    outcome, document = run_samples(
        fakes, data_dir, done, ConnectionFailedError("unavailable"), done, KeyboardInterrupt
    )
    assert (outcome.exit_code, document["samples"], document["tables"][0]["rows"]) == (130, 2, 8)
    assert (document["status"], [error["message"] for error in document["errors"]]) == ("partial", ["unavailable"])
    assert outcome.stderr.count("unavailable") == 1


def test_a_run_without_any_sample_has_failed(fakes: FakePipeline, data_dir: str) -> None:
    error = ConnectionFailedError("unavailable")
    outcome, document = run_samples(fakes, data_dir, error, error, KeyboardInterrupt)
    assert (outcome.exit_code, document["status"], document["samples"]) == (130, "failed", 0)
    assert [error["name"] for error in document["errors"]] == ["CONNECTION_FAILED"]


def test_a_failure_of_a_sample_is_reported(fakes: FakePipeline, data_dir: str) -> None:
    done = fakes.sample.return_value
    done.failures = (failure(group="g"),)
    outcome, document = run_samples(fakes, data_dir, done, KeyboardInterrupt)
    assert (outcome.exit_code, document["status"], document["errors"][0]["group"]) == (130, "partial", "g")


def test_a_run_without_failures_is_complete(fakes: FakePipeline, data_dir: str) -> None:
    outcome, document = run_samples(fakes, data_dir, fakes.sample.return_value, KeyboardInterrupt)
    assert (outcome.exit_code, document["status"], document["errors"]) == (130, "complete", [])


def test_rows_written_before_the_directory_was_deleted_are_reported(fakes: FakePipeline, data_dir: str) -> None:
    done = fakes.sample.return_value
    outcome, document = run_samples(fakes, data_dir, done, done, done, StorageError("it is deleted"))
    assert (outcome.exit_code, document["status"], document["samples"]) == (3, "partial", 3)
    (table,) = document["tables"]
    assert table == {"cluster": "c", "cluster_id": "c", "table": "partition_offsets", "rows": 12}
    assert [error["name"] for error in document["errors"]] == ["STORAGE_FAILED"]
    assert outcome.stderr.splitlines()[-1] == "Error: it is deleted"


def test_all_samples_use_one_client_so_that_sessions_are_renewed(fakes: FakePipeline, data_dir: str) -> None:
    done = fakes.sample.return_value
    run_samples(fakes, data_dir, done, ConnectionFailedError("unavailable"), done, KeyboardInterrupt)
    clients = [call.args[0] for call in fakes.sample.call_args_list]
    assert len(clients) == 4
    assert all(client is clients[0] for client in clients)
