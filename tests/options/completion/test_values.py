"""What is offered for each option and argument."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.kinds import GROUP_STATES, group_types
from kafka_groups.options.completion import cluster_names
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.options.completion.lines import kinds_offered, offered


def test_commands_are_offered_in_the_order_of_the_help() -> None:
    reading = ["list", "describe", "offsets", "lag", "why", "check", "wait", "orphans"]
    changing = ["reset", "delete", "delete-offsets", "remove-members", "undo"]
    assert offered("") == [*reading, *changing, "exporter", "pipeline", "schema", "sandbox", "completion"]
    assert offered("pipeline", "b") == ["backfill", "build"]
    assert offered("sandbox", "d") == ["demo", "down"]


def test_options_are_offered_behind_ids_too() -> None:
    assert offered("describe", "orders", "--in") == ["--in-state"]


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("words", [("describe", ""), ("describe", "-g", ""), ("offsets", "--group", "")], ids=" ".join)
def test_ids_of_groups_come_from_the_cluster_of_the_environment(words: tuple[str, ...]) -> None:
    assert offered(*words) == ["billing", "orders", "orders-eu"]


@pytest.mark.usefixtures("cluster")
def test_a_value_that_is_joined_to_its_option_is_offered_as_a_whole_word() -> None:
    assert offered("describe", "--group=b") == ["--group=billing"]
    assert offered("list", "--state=Sta") == ["--state=Stable"]


@pytest.mark.usefixtures("cluster")
def test_a_short_option_takes_no_value_behind_an_equals_sign() -> None:
    assert offered("describe", "-g=b") == []


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    "words",
    [("orders", ""), ("-g", "orders", ""), ("--group=orders", "-g", ""), ("orders", "-g", "")],
    ids=" ".join,
)
def test_ids_that_are_on_the_line_are_not_offered_again(words: tuple[str, ...]) -> None:
    assert offered("describe", *words) == ["billing", "orders-eu"]


def test_an_id_that_looks_like_an_option_is_offered_where_it_is_read_as_an_id(cluster: ScriptedCluster) -> None:
    cluster.groups = {"-x": Group()}
    assert offered("describe", "") == []
    assert offered("describe", "--", "") == ["-x"]
    assert offered("describe", "-g", "") == ["-x"]


def test_only_list_offers_groups_of_other_kinds(cluster: ScriptedCluster) -> None:
    cluster.groups = {
        "consumer": Group(),
        "registry": Group(protocol_type="sr"),
        "queue": Group(type="Queue", protocol_type="queue"),
    }
    assert offered("describe", "") == ["consumer"]
    assert offered("offsets", "-g", "") == ["consumer"]
    assert offered("list", "") == ["consumer", "queue", "registry"]


@pytest.mark.usefixtures("cluster")
def test_a_command_that_reads_tables_offers_no_groups_of_a_cluster() -> None:
    assert offered("pipeline", "report", "") == []


def test_a_dollar_sign_in_a_property_is_not_expanded(cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALUE", "expanded")
    assert offered("describe", "-X", "client.id=a$VALUE", "b") == ["billing"]
    assert offered("describe", "-Xclient.id=b$VALUE", "-b", str(cluster.brokers[2].endpoint), "b") == ["billing"]
    assert {request.client_id for request in cluster.requests_of("ListGroups")} >= {"a$VALUE"}


def test_the_options_of_the_line_name_the_cluster_before_the_environment(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("KAFKA_GROUPS_BOOTSTRAP_SERVER", "127.0.0.1:1")
    address = str(cluster.brokers[1].endpoint)
    (home / "my.properties").write_text(f"bootstrap.servers={address}")
    monkeypatch.setenv("ADDRESS", address)
    with monkeypatch.context() as patch:
        patch.setattr(cluster_names, "_LEAST_S", 1.0)
        assert offered("describe", "b") == []
    assert offered("describe", "-b", address, "b") == ["billing"]
    assert offered("describe", "--bootstrap-server", "$ADDRESS", "b") == ["billing"]
    assert offered("describe", "--config", "~/my.properties", "b") == ["billing"]


def test_topics_come_from_the_cluster(cluster: ScriptedCluster) -> None:
    assert offered("offsets", "--topic", "") == ["audit", "payments"]
    assert offered("pipeline", "backfill", "-b", str(cluster.brokers[1].endpoint), "--topic", "p") == ["payments"]


@pytest.mark.usefixtures("cluster")
def test_partitions_may_follow_a_topic_where_the_command_takes_them() -> None:
    assert kinds_offered("offsets", "--topic", "") == {"prefix"}
    assert kinds_offered("pipeline", "backfill", "--topic", "") == {"plain"}
    assert offered("offsets", "--topic", "payments:0,") == []


@pytest.mark.parametrize(("option", "names"), [("--state", GROUP_STATES), ("--type", group_types())])
def test_states_and_types_are_those_of_kafka(option: str, names: tuple[str, ...]) -> None:
    assert offered("list", option, "") == list(names)
    assert offered("offsets", option, "") == list(names)


def test_the_last_name_of_a_list_is_completed_in_any_case() -> None:
    assert offered("list", "--state", "stable,em") == ["stable,Empty"]


def test_names_that_a_list_has_are_not_offered_again() -> None:
    assert offered("describe", "--type", "share, classic,") == ["share, classic,Consumer", "share, classic,Streams"]


def test_profiles_are_those_of_the_users_file(home: Path) -> None:
    assert offered("list", "--profile", "") == []
    (home / ".config" / "kafka-groups").mkdir(parents=True)
    (home / ".config" / "kafka-groups" / "profiles.toml").write_text("[prod]\n[dev]\n[other]\n")
    assert offered("list", "--profile", "") == ["dev", "other", "prod"]
    assert offered("list", "--profile", "p") == ["prod"]
    assert offered("list", "--profile", "dev,p") == ["dev,prod"]
    assert offered("delete", "--profile", "dev,p") == []


def test_profiles_that_an_option_cannot_name_are_not_offered(home: Path) -> None:
    (home / ".config" / "kafka-groups").mkdir(parents=True)
    (home / ".config" / "kafka-groups" / "profiles.toml").write_text('["a,b"]\n[a]\n[A]\n')
    for command in ("list", "delete"):
        assert offered(command, "--profile", "") == ["A", "a"]
    assert offered("list", "--profile", "a,") == ["a,A"]


def test_formats_are_those_of_the_command() -> None:
    assert offered("list", "--format", "") == ["table", "json", "ndjson", "csv", "kafka"]
    assert offered("offsets", "--format", "") == ["table", "json", "ndjson", "csv"]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("list", "--config"), "file"),
        (("pipeline", "build", "--data-dir"), "dir"),
        (("pipeline", "report", "--html"), "file"),
        (("sandbox", "up", "--dir"), "dir"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_shell_completes_paths(words: tuple[str, ...], kind: str) -> None:
    assert kinds_offered(*words, "") == {kind}


@pytest.mark.usefixtures("cluster")
def test_addresses_of_brokers_are_not_offered() -> None:
    assert offered("list", "-b", "") == []
