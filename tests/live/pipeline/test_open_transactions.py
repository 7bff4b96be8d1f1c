"""A transaction that stays open holds back what is written behind it, and doctor says so."""

from __future__ import annotations

import json

import pytest

from kafka_groups.pipeline.doctor import open_transactions
from kafka_groups.pipeline.facts.decode.partitioner import partition_for
from kafka_groups.pipeline.facts.source.brokers import Brokers
from tests.fakes.command_line import run
from tests.live.groups.topics import make_topic, unique_name
from tests.live.pipeline.offsets_topic import commit, open_transaction

pytestmark = pytest.mark.live

_TIMEOUT_S = 30


def _check(bootstrap: str) -> tuple[str, str]:
    reported = run("pipeline", "doctor", "--format", "json", bootstrap=bootstrap).stdout
    (found,) = (check for check in json.loads(reported)["checks"] if check["check"] == "open transactions")
    return found["status"], found["detail"]


def test_an_open_transaction_is_reported_and_later_a_warning(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, group = make_topic(broker, records=8), unique_name("transacting")
    commit(broker, group, topic, 1)
    place = partition_for(group, len(Brokers({"bootstrap.servers": broker}, 30).topic().partitions))

    with open_transaction(broker, group, topic, 7) as producer:
        commit(broker, group, topic, 2, 3)
        young = _check(broker)
        monkeypatch.setattr(open_transactions, "_LONG_MS", 0)
        old = _check(broker)
        producer.abort_transaction(_TIMEOUT_S)

    reported = f"3 offsets of partitions {place} wait for transactions to end, the oldest open since "
    assert (young[0], old[0]) == ("ok", "warning")
    assert young[1].startswith(reported)
    assert "until then ingest does not read the records after them" in old[1]
    assert _check(broker) == ("ok", "no open transaction delays ingest")
