"""What `pipeline backfill` says of compacted topics, on brokers that answer all its other questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.backfilling.compacted import Policies
from tests.fakes.fake_admin import Outcome
from tests.fakes.fake_admin import run as run_command
from tests.fakes.scripted_cluster import ScriptedCluster

if TYPE_CHECKING:
    from unittest.mock import Mock

    from pytest_mock import MockerFixture

TOPICS = ("a", "b", "c", "d", "e", "f")


@pytest.fixture
def brokers() -> Iterator[ScriptedCluster]:
    """One broker with empty topics."""
    topics, ends = {name: {0: 1} for name in TOPICS}, {(name, 0): 0 for name in TOPICS}
    with ScriptedCluster(brokers=1, topics=topics, ends=ends) as found:
        yield found


@pytest.fixture
def policies(mocker: MockerFixture) -> Mock:
    """What is found of the topics' policies."""
    found: Mock = mocker.patch("kafka_groups.pipeline.backfilling.compacted.find_compacted")
    found.return_value = Policies([], [])
    return found


def run(brokers: ScriptedCluster, into: Path, *arguments: str) -> Outcome:
    """A backfill whose --since and --step leave one time or two."""
    asked = ("pipeline", "backfill", "--into", str(into / "history"), "--since", "2s", "--step", "2s", *arguments)
    return run_command(*asked, bootstrap=str(brokers.brokers[1].endpoint))


def notes(outcome: Outcome) -> list[str]:
    """All that stderr says before the line that tells the numbers."""
    assert outcome.exit_code == 0, outcome
    *found, done = outcome.stderr.splitlines()
    assert done.startswith("Done in ")
    return found


def test_compacted_topics_are_told_once_and_left_out(brokers: ScriptedCluster, policies: Mock, tmp_path: Path) -> None:
    policies.return_value = Policies(["a", "c"], [])
    outcome = run(brokers, tmp_path)

    assert notes(outcome) == ["2 topics are compacted and left out, for their logs do not tell what they held: a, c."]
    assert "compacted" not in outcome.stdout
    asked = {topic["name"] for each in brokers.asked("ListOffsets") for topic in each.body["topics"]}
    assert asked == {"b", "d", "e", "f"}


def test_of_many_compacted_topics_the_first_are_named(brokers: ScriptedCluster, policies: Mock, tmp_path: Path) -> None:
    policies.return_value = Policies([*TOPICS], [])
    (told,) = notes(run(brokers, tmp_path))
    assert told.startswith("6 topics are compacted and left out,")
    assert told.endswith(": a, b, c, d, e, ….")
    policies.return_value = Policies(["b"], [])
    assert notes(run(brokers, tmp_path)) == [
        "1 topic is compacted and left out, for its log does not tell what it held: b."
    ]


def test_topics_that_may_be_compacted_are_backfilled_and_told(
    brokers: ScriptedCluster, policies: Mock, tmp_path: Path
) -> None:
    policies.return_value = Policies(["a"], ["b", "c"], "Topic authorization failed.")
    _, told = notes(run(brokers, tmp_path))

    assert told == (
        "It is not known of 2 topics whether they are compacted, which would make their lags of the past too large: "
        "Topic authorization failed."
    )
    asked = {topic["name"] for each in brokers.asked("ListOffsets") for topic in each.body["topics"]}
    assert {"b", "c"} < asked


def test_where_no_topic_is_compacted_nothing_is_said(brokers: ScriptedCluster, policies: Mock, tmp_path: Path) -> None:
    assert notes(run(brokers, tmp_path, "--topic", "a", "--timeout", "7s")) == []
    client, timeout_s, names = policies.call_args.args
    assert (client["bootstrap.servers"], timeout_s, names) == (str(brokers.brokers[1].endpoint), 7.0, ["a"])


def test_settings_that_the_wire_takes_and_librdkafka_does_not_leave_topics_unknown(
    brokers: ScriptedCluster, policies: Mock, tmp_path: Path
) -> None:
    (told,) = notes(run(brokers, tmp_path, "--topic", "a", "-X", "ssl.truststore.type=JKS"))
    assert told.startswith("It is not known of 1 topic whether it is compacted, ")
    assert "-X" in told
    policies.assert_not_called()


@pytest.mark.usefixtures("policies")
def test_log_ends_that_only_records_of_the_future_could_tell_are_counted(
    brokers: ScriptedCluster, tmp_path: Path
) -> None:
    brokers.records["a", 0] = [253_402_300_799_000, 0, 0]
    assert notes(run(brokers, tmp_path, "--topic", "a"))[0].endswith(
        "not known, since records have timestamps of the future."
    )
