"""The notes of `pipeline backfill` on compacted topics and on unknown offsets, with a scripted cluster."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.api import backfill as function
from kafka_groups.pipeline.commands.backfill import backfill as command
from kafka_groups.pipeline.facts.topic_settings import Policies
from tests.fakes.command_line import Outcome
from tests.fakes.command_line import run as run_command
from tests.fakes.scripted_cluster import ScriptedCluster

if TYPE_CHECKING:
    from unittest.mock import Mock

    from pytest_mock import MockerFixture

TOPICS = ("a", "b", "c", "d", "e", "f")


@pytest.fixture
def brokers() -> Iterator[ScriptedCluster]:
    """A cluster of one broker, with empty topics."""
    topics, ends = {name: {0: 1} for name in TOPICS}, {(name, 0): 0 for name in TOPICS}
    with ScriptedCluster(brokers=1, topics=topics, ends=ends) as cluster:
        yield cluster


@pytest.fixture
def policies(mocker: MockerFixture) -> Mock:
    """A fake look-up of the topics' policies, which finds no compacted topic."""
    find: Mock = mocker.patch("kafka_groups.pipeline.facts.topic_settings.find_compacted")
    find.return_value = Policies([], [])
    return find


def run(brokers: ScriptedCluster, data_dir: Path, *arguments: str) -> Outcome:
    """Run a backfill whose --since and --interval leave one time or two."""
    times = ("--since", "2s", "--interval", "2s")
    command = ("pipeline", "backfill", "--data-dir", str(data_dir / "history"), *times, *arguments)
    return run_command(*command, bootstrap=str(brokers.brokers[1].endpoint))


def requested_topics(brokers: ScriptedCluster) -> set[str]:
    """Return the topics in the ListOffsets requests that the brokers received."""
    return {topic["name"] for request in brokers.requests_of("ListOffsets") for topic in request.body["topics"]}


def notes(outcome: Outcome) -> list[str]:
    """Return the lines of stderr before the last one, which has the numbers."""
    assert outcome.exit_code == 0, outcome
    *lines, summary = outcome.stderr.splitlines()
    assert summary.startswith("Done in ")
    return lines


def test_compacted_topics_are_skipped_and_named_in_one_note(
    brokers: ScriptedCluster, policies: Mock, tmp_path: Path
) -> None:
    policies.return_value = Policies(["a", "c"], [])
    outcome = run(brokers, tmp_path)

    assert notes(outcome) == [
        "2 topics are compacted and skipped, because their logs no longer hold every record: a, c."
    ]
    assert "compacted" not in outcome.stdout
    assert requested_topics(brokers) == {"b", "d", "e", "f"}


def test_the_note_on_many_compacted_topics_names_the_first_ones(
    brokers: ScriptedCluster, policies: Mock, tmp_path: Path
) -> None:
    policies.return_value = Policies([*TOPICS], [])
    (note,) = notes(run(brokers, tmp_path))
    assert note.startswith("6 topics are compacted and skipped,")
    assert note.endswith(": a, b, c, d, e, ….")
    policies.return_value = Policies(["b"], [])
    assert notes(run(brokers, tmp_path)) == [
        "1 topic is compacted and skipped, because its log no longer holds every record: b."
    ]


def test_topics_that_may_be_compacted_are_backfilled_with_a_note(
    brokers: ScriptedCluster, policies: Mock, tmp_path: Path
) -> None:
    policies.return_value = Policies(["a"], ["b", "c"], "Topic authorization failed.")
    _, note = notes(run(brokers, tmp_path))

    assert note == (
        "2 topics may be compacted, which would make their past lags too large: Topic authorization failed."
    )
    assert {"b", "c"} < requested_topics(brokers)


def test_without_compacted_topics_there_is_no_note(brokers: ScriptedCluster, policies: Mock, tmp_path: Path) -> None:
    assert notes(run(brokers, tmp_path, "--topic", "a", "--timeout", "7s")) == []
    client, timeout_s, names = policies.call_args.args
    assert (client["bootstrap.servers"], timeout_s, names) == (str(brokers.brokers[1].endpoint), 7.0, ["a"])


def test_topics_are_unknown_if_librdkafka_rejects_the_settings(
    brokers: ScriptedCluster, policies: Mock, tmp_path: Path
) -> None:
    config = tmp_path / "client.properties"
    config.write_text(f"bootstrap.servers={brokers.brokers[1].endpoint}\nclient.rack=a\\u0000b\n")
    (note,) = notes(run(brokers, tmp_path, "--topic", "a", "--config", str(config)))
    assert note.startswith("1 topic may be compacted, ")
    assert "client.rack" in note
    policies.assert_not_called()


@pytest.mark.usefixtures("policies")
def test_log_ends_hidden_by_future_timestamps_are_counted_as_unknown(brokers: ScriptedCluster, tmp_path: Path) -> None:
    brokers.records["a", 0] = [253_402_300_799_000, 0, 0]
    assert notes(run(brokers, tmp_path, "--topic", "a"))[0].endswith(
        "past log end offsets are unknown: records have timestamps in the future."
    )


def test_the_python_function_looks_back_as_far_as_the_command() -> None:
    (since,) = (option for option in command.params if option.name == "since")
    assert since.default == "7d"
    assert signature(function).parameters["since"].default == timedelta(days=7)
