"""The public library: what `kafka_groups` exports, and properties as the settings of a client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kafka_groups
from kafka_groups import GroupAdmin, SettingsError
from kafka_groups.settings import settings_from
from tests.fakes.scripted_cluster import Group, ScriptedCluster


def test_every_exported_name_exists_and_is_documented() -> None:
    for name in kafka_groups.__all__:
        exported = getattr(kafka_groups, name)
        assert name == "Timeout" or (exported.__doc__ and exported.__module__.startswith("kafka_groups"))


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'kafka_groups' has no attribute 'nothing'"):
        kafka_groups.nothing  # type: ignore[attr-defined]  # noqa: B018 - the access fails


def test_the_names_are_listed_for_completion_in_a_notebook() -> None:
    assert {"GroupAdmin", "list_lag", "Results"} <= {*dir(kafka_groups)}


def test_the_failure_of_an_item_that_no_request_can_carry_is_an_invalid_request() -> None:
    with ScriptedCluster(brokers=1, groups={"g": Group(error=42)}) as cluster, cluster.admin() as admin:
        admin.list_groups()
        results = admin.describe_consumer_groups(["x" * 40_000, "g"])
    errors = {group[:1]: type(failure.to_error()) for group, failure in results.failed.items()}
    assert errors == {"x": kafka_groups.InvalidRequestError, "g": kafka_groups.BrokerError}


@pytest.mark.parametrize("name", [1, b"a", None], ids=["int", "bytes", "None"])
def test_a_name_of_another_type_is_refused(name: object) -> None:
    refused = pytest.raises(TypeError, match="pass names of type str, not ")
    with ScriptedCluster(brokers=1) as cluster, cluster.admin() as admin, refused:
        admin.describe_consumer_groups([name])  # type: ignore[list-item]  # no str


def test_committed_offsets_are_found_by_topic_and_partition() -> None:
    groups = {"g": Group(commits={("t", 0): 5})}
    with ScriptedCluster(brokers=1, groups=groups) as cluster, cluster.admin() as admin:
        commit = admin.list_consumer_group_offsets({"g": None}).all()["g"]["t", 0]
    assert commit is not None
    assert commit.offset == 5


def test_importing_the_package_imports_no_module_of_it() -> None:
    code = "import sys, kafka_groups; print([name for name in sys.modules if name.startswith('kafka_groups.')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_library_imports_neither_click_nor_rich() -> None:
    code = (
        "import sys, kafka_groups; kafka_groups.GroupAdmin, kafka_groups.list_lag;"
        "print({'click', 'rich', 'confluent_kafka'} & {*sys.modules})"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"


@pytest.mark.parametrize("key", ["bootstrap.servers", "metadata.broker.list"])
def test_properties_have_javas_or_librdkafkas_names(key: str) -> None:
    with ScriptedCluster(brokers=1, groups={"g": Group()}) as cluster:
        with GroupAdmin({key: str(cluster.brokers[1].endpoint), "client.id": "mine"}) as admin:
            assert list(admin.list_groups().all()) == ["g"]
        assert {request.client_id for request in cluster.requests_of("ListGroups")} == {"mine"}


def test_numbers_are_properties_too() -> None:
    settings = settings_from({"bootstrap.servers": "b:1", "socket.connection.setup.timeout.ms": 2500})
    assert settings.connect_timeout_s == 2.5


def test_the_default_timeout_of_a_call_is_30_seconds() -> None:
    assert settings_from({"bootstrap.servers": "b:1"}).timeout_s == 30.0


def test_the_environment_and_profiles_are_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("client.id=other\n")
    monkeypatch.setenv("KAFKA_GROUPS_BOOTSTRAP_SERVER", "other:9092")
    monkeypatch.setenv("KAFKA_GROUPS_CONFIG", str(config))
    monkeypatch.setenv("KAFKA_GROUPS_PROFILE", "absent")
    monkeypatch.setenv("KAFKA_GROUPS_TIMEOUT", "1s")
    settings = settings_from({"bootstrap.servers": "b:1"})
    assert (str(settings.bootstrap[0]), settings.client_id, settings.timeout_s) == ("b:1", "kafka-groups", 30.0)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, 'no cluster is named; pass {"bootstrap.servers": "HOST:PORT,…"}'),
        ({"bootstrap.servers": ""}, 'no cluster is named; pass {"bootstrap.servers": "HOST:PORT,…"}'),
        ({"bootstrap.servers": "b:x"}, "bootstrap.servers: "),
        ({"bootstrap.servers": "b:1", "group.id": "g"}, "group.id: this property is not supported; supported "),
        ({"bootstrap.servers": "b:1", "sasl.username": "u"}, "sasl.username has no effect with security.protocol=PLA"),
        (
            {"bootstrap.servers": None},
            "bootstrap.servers: the value has the type NoneType; pass a str, an int or a bool",
        ),
    ],
    ids=["empty", "no servers", "port", "unknown", "without effect", "no text"],
)
def test_a_property_that_cannot_be_used_is_refused_with_its_name(properties: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        GroupAdmin(properties)
    assert str(caught.value).startswith(message)


def test_a_misspelt_property_gets_the_nearest_one() -> None:
    with pytest.raises(SettingsError, match=r"; did you mean 'bootstrap\.servers'\?$"):
        GroupAdmin({"bootstrap.server": "b:1"})


def test_a_certificate_check_that_is_switched_off_is_refused() -> None:
    properties: dict[str, str | float] = {
        "bootstrap.servers": "b:1",
        "security.protocol": "SSL",
        "enable.ssl.certificate.verification": False,
    }
    with pytest.raises(SettingsError, match=r"set ssl\.ca\.location to the CA of the brokers instead"):
        GroupAdmin(properties)


def test_an_empty_property_has_its_default() -> None:
    assert settings_from({"bootstrap.servers": "b:1", "client.id": ""}).client_id == "kafka-groups"


@pytest.mark.parametrize("call", ["describe_consumer_groups", "describe_topics"])
def test_one_name_in_place_of_a_list_is_refused(call: str) -> None:
    with ScriptedCluster(brokers=1) as cluster, cluster.admin() as admin, pytest.raises(TypeError, match="one str"):
        getattr(admin, call)("abc")
