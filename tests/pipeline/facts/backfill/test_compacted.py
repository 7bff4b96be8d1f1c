"""Compacted topics: excluded from a backfill, and found by requests for each topic's policy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.pipeline.facts import topic_settings
from kafka_groups.pipeline.facts.topic_settings import Policies, find_compacted
from kafka_groups.pipeline.store import Storage
from tests.fakes.raw_port import accepting_only
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.backfill.backfills import MIDNIGHT_MS, rows_of, run

if TYPE_CHECKING:
    from confluent_kafka.admin import ConfigResource
    from pytest_mock import MockerFixture

CLIENT = {"bootstrap.servers": "127.0.0.1:1", "sasl.password": "s3cret-word"}


class Configs:
    """Brokers with these policies; an error is the response for its topic, and topics they do not know have none."""

    def __init__(self, mocker: MockerFixture, policies: dict[str, str | KafkaError | None]) -> None:
        self.requests: list[list[str]] = []
        self._policies = policies
        made = mocker.patch.object(topic_settings, "new_admin")
        made.return_value.describe_configs.side_effect = self._describe

    def _describe(self, resources: Sequence[ConfigResource], **_: Any) -> dict[ConfigResource, Future[Any]]:
        self.requests.append([resource.name for resource in resources])
        return {resource: self._answer(resource.name) for resource in resources}

    def _answer(self, name: str) -> Future[Any]:
        answer: Future[Any] = Future()
        policy = self._policies.get(name, "delete")
        if isinstance(policy, KafkaError):
            answer.set_exception(KafkaException(policy))
        else:
            settings = {} if policy is None else {"cleanup.policy": SimpleNamespace(value=policy)}
            answer.set_result({"retention.ms": SimpleNamespace(value="1"), **settings})
        return answer


def asked_about(cluster: ScriptedCluster) -> set[str]:
    """Return the topics whose logs were requested."""
    return {topic["name"] for each in cluster.requests_of("ListOffsets") for topic in each.body["topics"]}


def test_excluded_topics_have_no_rows_and_no_lookups(cluster: ScriptedCluster, storage: Storage) -> None:
    done = run(cluster, storage, until_ms=MIDNIGHT_MS, exclude_topics=lambda _names: ["busy"])

    assert {row["topic"] for row in rows_of(storage)} == asked_about(cluster) == {"quiet"}
    assert (done.partitions, done.rows, done.failures) == (1, 1, [])


def test_the_selector_is_called_once_before_logs_are_looked_up(cluster: ScriptedCluster, storage: Storage) -> None:
    given: list[tuple[list[str], int]] = []

    def select(names: Sequence[str]) -> Sequence[str]:
        given.append(([*names], len(cluster.requests_of("ListOffsets"))))
        return ()

    run(cluster, storage, until_ms=MIDNIGHT_MS, exclude_topics=select)
    assert given == [(["busy", "quiet"], 0)]
    assert asked_about(cluster) == {"busy", "quiet"}


def test_the_selector_is_not_called_without_a_topic(cluster: ScriptedCluster, storage: Storage) -> None:
    given: list[Sequence[str]] = []

    def select(names: Sequence[str]) -> Sequence[str]:
        given.append(names)
        return ()

    run(cluster, storage, until_ms=MIDNIGHT_MS, topics=["absent"], exclude_topics=select)
    assert given == []


def test_a_named_topic_that_is_excluded_is_no_failure(cluster: ScriptedCluster, storage: Storage) -> None:
    done = run(cluster, storage, until_ms=MIDNIGHT_MS, topics=["__internal"], exclude_topics=lambda names: names)
    assert (rows_of(storage), asked_about(cluster), done.failures) == ([], set(), [])


def test_a_topic_is_compacted_if_its_policy_contains_compact(mocker: MockerFixture) -> None:
    policies = {"a": "compact", "b": "delete", "c": "delete,compact", "d": "compact, delete", "e": ""}
    Configs(mocker, {**policies})
    assert find_compacted(CLIENT, 5, [*policies]) == Policies(["a", "c", "d"], [])


def test_a_topic_whose_settings_may_not_be_read_is_unknown(mocker: MockerFixture) -> None:
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed for s3cret-word")
    Configs(mocker, {"a": "compact", "b": refused, "c": None})
    found = find_compacted(CLIENT, 5, ["a", "b", "c", "d"])
    assert found == Policies(["a"], ["b", "c"], "Topic authorization failed for (hidden)")


def test_a_broker_that_does_not_return_the_policy_leaves_it_unknown(mocker: MockerFixture) -> None:
    Configs(mocker, {"a": None})
    assert find_compacted(CLIENT, 5, ["a"]) == Policies([], ["a"], "the brokers return no cleanup.policy")


def test_many_topics_are_in_requests_of_a_thousand(mocker: MockerFixture) -> None:
    names = [f"t{number:04}" for number in range(2_001)]
    brokers = Configs(mocker, {"t0000": "compact", "t2000": "compact"})
    assert find_compacted(CLIENT, 5, names) == Policies(["t0000", "t2000"], [])
    assert [len(request) for request in brokers.requests] == [1_000, 1_000, 1]


def test_properties_that_librdkafka_refuses_leave_all_topics_unknown() -> None:
    found = find_compacted({**CLIENT, "ssl.secret": "s3cret-word"}, 5, ["a", "b"])
    assert (found.compacted_topics, found.unknown_topics) == ([], ["a", "b"])
    assert "ssl.secret" in found.reason
    assert "s3cret" not in found.reason


@pytest.mark.timed
def test_brokers_that_do_not_respond_in_time_get_no_more_requests(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(topic_settings, "_TOPICS_PER_REQUEST", 1)
    with accepting_only() as silent:
        began = time.monotonic()
        found = find_compacted({"bootstrap.servers": str(silent)}, 1, ["a", "b", "c", "d"])
    assert time.monotonic() - began < 3
    assert (found.compacted_topics, found.unknown_topics) == ([], ["a", "b", "c", "d"])
    assert "imed out" in found.reason
    assert capfd.readouterr() == ("", "")


def test_a_broker_that_refuses_a_topic_gets_requests_for_the_others(
    mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_settings, "_TOPICS_PER_REQUEST", 1)
    Configs(mocker, {"a": KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "b": "compact"})
    found = find_compacted(CLIENT, 5, ["a", "b"])
    assert (found.compacted_topics, found.unknown_topics) == (["b"], ["a"])
