"""`pipeline sample` with several profiles: rows by cluster, failures of a cluster, and runs at an interval."""

from __future__ import annotations

import json
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.errors import AuthenticationFailedError, StorageError, TokenFailedError
from kafka_groups.pipeline.commands.sample_clusters import ClusterSamples
from kafka_groups.pipeline.commands.schemas import pipeline_schemas
from kafka_groups.pipeline.facts import sample as sample_module
from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS, SAMPLE_RUNS
from tests.commands.several_clusters import NO_BROKER
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.command_line import Outcome
from tests.fakes.reactions import delayed
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.sample.samples import rows_of

BOTH = ("--profile", "east,west")
Sample = Callable[..., Outcome]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def sample(profiles: ClusterProfiles, directory: Path) -> Sample:
    return lambda *arguments: profiles.run("pipeline", "sample", "--data-dir", str(directory), *arguments)


def stored(directory: Path) -> Storage:
    return open_storage(str(directory))


def samples_of(directory: Path) -> Counter[str]:
    return Counter(row["cluster_id"] for row in rows_of(stored(directory), SAMPLE_RUNS))


def interrupt_after(monkeypatch: pytest.MonkeyPatch, *, samples_only: bool = False, **numbers: int) -> None:
    """Interrupt the command when each of these profiles has this number of samples or failures."""
    wanted = Counter(numbers)
    added = Counter[str]()
    add = ClusterSamples.add

    def add_and_count(samples: ClusterSamples, outcome: Any) -> str | None:
        if wanted <= added:
            raise KeyboardInterrupt
        if not samples_only or outcome.value is not None:
            added[outcome.reader.name] += 1
        return add(samples, outcome)

    monkeypatch.setattr(ClusterSamples, "add", add_and_count)


def test_groups_of_the_same_id_stay_apart_in_one_directory(sample: Sample, directory: Path) -> None:
    outcome = sample(*BOTH)
    assert outcome.exit_code == 0
    rows = rows_of(stored(directory), OFFSET_COMMITS)
    found = {(row["cluster_id"], row["group"], row["committed_offset"]) for row in rows}
    assert found == {("id-east", "billing", 5), ("id-east", "orders", 6), ("id-west", "billing", 95)}
    assert samples_of(directory) == {"id-east": 1, "id-west": 1}
    header, *lines = [line.split() for line in outcome.stdout.splitlines()]
    assert header == ["CLUSTER", "TABLE", "ROWS"]
    assert {("east", "offset_commits", "2"), ("west", "offset_commits", "1")} <= {tuple(line) for line in lines}
    assert re.fullmatch(r"Done in .* s: samples 2, rows written \d+\.\n", outcome.stderr)


@pytest.mark.parametrize("arguments", [("--profile", "west"), ("--profile", "east,dead,west")])
@pytest.mark.parametrize("output_format", ["json", "ndjson"])
def test_documents_name_the_cluster_and_follow_their_schema(
    sample: Sample, arguments: tuple[str, ...], output_format: str
) -> None:
    text = sample(*arguments, "--format", output_format).stdout
    schema = pipeline_schemas()["pipeline-sample"]
    if output_format == "json":
        document: dict[str, Any] = json.loads(text)
        assert list(Draft202012Validator(schema).iter_errors(document)) == []
        rows = document["tables"]
        assert {error["cluster"] for error in document["errors"]} <= {"dead"}
    else:
        rows = [json.loads(line) for line in text.splitlines()]
        assert all(list(Draft202012Validator(schema["$defs"]["row"]).iter_errors(row)) == [] for row in rows)
    assert {("west", "id-west")} <= {(row["cluster"], row["cluster_id"]) for row in rows}
    assert {row["cluster"] for row in rows} <= {"east", "west"}


def test_a_cluster_that_fails_is_one_failure_beside_the_samples(sample: Sample, directory: Path) -> None:
    outcome = sample("--profile", "east,dead,west", "--format", "csv")
    assert (outcome.exit_code, samples_of(directory)) == (3, {"id-east": 1, "id-west": 1})
    assert outcome.stdout.startswith("CLUSTER,TABLE,ROWS\n")
    (line,) = [line for line in outcome.stderr.splitlines() if "Error" in line]
    assert line.startswith("dead: Error: cannot connect to 127.0.0.1:1: connection refused; ")


def test_the_first_of_two_profiles_of_one_cluster_samples_it(
    sample: Sample, profiles: ClusterProfiles, east: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profiles may have different rights, so the time that each takes decides nothing."""
    profiles.add("again", east)
    read = sample_module.read_sample
    is_second_read = Event()

    def read_first_profile_last(admin: Any, **options: Any) -> sample_module.SampleReading:
        is_first = current_thread().name == "cluster east"
        if is_first:
            is_second_read.wait(10)
            time.sleep(0.3)
        reading = read(admin, **options)
        if not is_first:
            is_second_read.set()
        return reading

    monkeypatch.setattr(sample_module, "read_sample", read_first_profile_last)
    outcome = sample("--profile", "east,again", "--format", "ndjson")
    assert {json.loads(line)["cluster"] for line in outcome.stdout.splitlines()} == {"east"}
    assert "The profiles 'east' and 'again' are one cluster, id-east; 'east' samples it." in outcome.stderr


def test_without_a_sample_no_directory_is_created(sample: Sample, profiles: ClusterProfiles, directory: Path) -> None:
    profiles.add("gone", NO_BROKER)
    outcome = sample("--profile", "dead,gone", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"], directory.exists()) == (1, "failed", False)


def test_unusable_settings_are_a_failure_of_their_cluster(
    sample: Sample, profiles: ClusterProfiles, directory: Path
) -> None:
    profiles.add("broken", NO_BROKER, {"security.protocol": "TSL"})
    outcome = sample("--profile", "west,broken")
    assert (outcome.exit_code, samples_of(directory)) == (3, {"id-west": 1})
    assert "broken: Error: profile 'broken': security.protocol=TSL is unknown" in outcome.stderr
    assert sample("--profile", "broken,dead", "--timeout", "5").exit_code == 2


def test_two_profiles_of_one_cluster_are_sampled_once(
    sample: Sample, profiles: ClusterProfiles, east: ScriptedCluster, directory: Path
) -> None:
    profiles.add("again", east)
    outcome = sample("--profile", "east,again")
    assert (outcome.exit_code, samples_of(directory)) == (0, {"id-east": 1})
    assert "are one cluster, id-east; '" in outcome.stderr


def test_a_directory_that_cannot_be_written_ends_the_command(
    sample: Sample, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = sample_module.write_sample

    def write_one(storage: Storage, reading: sample_module.SampleReading) -> sample_module.SampleResult:
        if directory.exists():
            raise StorageError("the disk is full")
        return write(storage, reading)

    monkeypatch.setattr(sample_module, "write_sample", write_one)
    outcome = sample(*BOTH, "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"], document["samples"]) == (3, "partial", 1)
    assert [error["name"] for error in document["errors"]] == ["STORAGE_FAILED"]
    assert outcome.stderr.splitlines()[-1] == "Error: the disk is full"


def test_samples_at_an_interval_continue_beside_a_dead_cluster(
    sample: Sample, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(monkeypatch, east=3, west=3, dead=1)
    outcome = sample("--profile", "east,dead,west", "--interval", "10ms", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (130, "partial")
    assert [(error["cluster"], error["name"]) for error in document["errors"]] == [("dead", "CONNECTION_FAILED")]
    assert samples_of(directory).total() == document["samples"] >= 6
    assert re.search(r"Z west: \d+ rows\n", outcome.stderr)
    assert "Z dead: Error: cannot connect to " in outcome.stderr


@pytest.mark.slow
def test_a_slow_cluster_does_not_delay_the_samples_of_others(
    profiles: ClusterProfiles, west: ScriptedCluster, directory: Path
) -> None:
    west.script("ListGroups", delayed(60.0))
    command = ("pipeline", "sample", "--data-dir", str(directory), *BOTH, "--interval", "10ms", "--format", "json")
    process = profiles.start(*command)
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(3)]
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert "west: Error: the command was interrupted before all results were written (INTERRUPTED)\n" in stderr
    assert [re.sub(r"^\S+|\d+", "", line) for line in lines] == [" east:  rows\n"] * 3
    assert (process.returncode, {*samples_of(directory)}) == (130, {"id-east"})
    assert [(each["cluster"], each["name"]) for each in json.loads(stdout)["errors"]] == [("west", "INTERRUPTED")]


@pytest.mark.parametrize(
    ("error", "first", "is_repeated"),
    [
        (AuthenticationFailedError("refused"), 0, False),
        (AuthenticationFailedError("refused"), 1, True),
        (TokenFailedError("no token"), 0, True),
    ],
)
def test_a_login_is_repeated_if_the_cluster_accepted_one_or_got_none(
    sample: Sample,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: AuthenticationFailedError,
    *,
    first: int,
    is_repeated: bool,
) -> None:
    """`first` is the number of samples of `west` before its login fails once."""
    reads = Counter[str]()
    read = sample_module.read_sample

    def read_or_fail(admin: Any, **options: Any) -> sample_module.SampleReading:
        reading = read(admin, **options)
        reads[reading.cluster_id] += 1
        if reading.cluster_id == "id-west" and reads["id-west"] == first + 1:
            raise error
        return reading

    monkeypatch.setattr(sample_module, "read_sample", read_or_fail)
    # A thread may read again before the first failure allows the next login, so that failures have no certain number.
    interrupt_after(monkeypatch, samples_only=is_repeated, east=5, west=first + 1)
    outcome = sample(*BOTH, "--interval", "10ms")
    assert outcome.exit_code == 130
    assert ("this run samples the cluster no more" not in outcome.stderr) == is_repeated
    assert (samples_of(directory)["id-west"] > first) == is_repeated


def test_a_run_ends_if_no_cluster_can_be_sampled_any_more(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AuthenticationFailedError("refused")

    monkeypatch.setattr(sample_module, "read_sample", refuse)
    outcome = sample(*BOTH, "--interval", "10ms", "--format", "json")
    names = [(error["cluster"], error["name"]) for error in json.loads(outcome.stdout)["errors"]]
    assert (outcome.exit_code, names) == (1, [("east", "AUTHENTICATION_FAILED"), ("west", "AUTHENTICATION_FAILED")])
