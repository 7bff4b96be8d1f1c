"""Settings and command lines of Kafka Streams applications and of Connect workers."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.sandbox.applications import (
    CONNECT_WORKER,
    application_line,
    connect_properties,
    sink_config,
    source_config,
    streams_properties,
)
from kafka_groups.sandbox.kafka import Kafka
from kafka_groups.sandbox.versions import parse_version


def test_a_streams_application_uses_its_protocol_and_no_native_store(tmp_path: Path) -> None:
    settings = streams_properties("127.0.0.1:9092", "word-count", 2, state=tmp_path)
    assert (settings["application.id"], settings["client.id"]) == ("word-count", "word-count-2")
    assert settings["group.protocol"] == "streams"
    assert settings["dsl.store.suppliers.class"].endswith("$InMemoryDslStoreSuppliers")
    assert settings["state.dir"] == str(tmp_path)


def test_workers_of_one_group_share_their_topics_and_listen_on_this_machine_only() -> None:
    first = connect_properties("127.0.0.1:9092", "loaders", 1, port=8083, copies=3)
    second = connect_properties("127.0.0.1:9092", "loaders", 2, port=8084, copies=3)
    assert {name for name in first if first[name] != second[name]} == {"client.id", "listeners"}
    assert first["listeners"] == "HTTP://127.0.0.1:8083"
    assert first["config.storage.topic"] == "loaders-config"
    assert first["config.storage.replication.factor"] == "3"


def test_file_connectors_name_their_file_and_their_topic(tmp_path: Path) -> None:
    source = source_config(tmp_path / "in", "lines")
    sink = sink_config(tmp_path / "out", "lines", tasks=2)
    assert (source["topic"], source["tasks.max"], source["file"]) == ("lines", "1", str(tmp_path / "in"))
    assert (sink["topics"], sink["tasks.max"], sink["file"]) == ("lines", "2", str(tmp_path / "out"))


def test_the_settings_file_is_the_last_argument_of_the_command_line(tmp_path: Path) -> None:
    kafka = Kafka(version=parse_version("4.3.1"), java=tmp_path / "java", jars=(tmp_path / "a.jar",))
    line = application_line(
        kafka, CONNECT_WORKER, tmp_path / "worker", logging=tmp_path / "l.xml", log=tmp_path / "w.log"
    )
    assert list(line[-2:]) == [CONNECT_WORKER, str(tmp_path / "worker")]
    assert f"-Dlog4j2.configurationFile=file://{tmp_path}/l.xml" in line
