"""Typing errors in commands, options and values: the error suggests the nearest name, and nothing runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

HISTORY = ("pipeline", "export", "--data-dir", "none", "--as", "csv", "--output", "none")


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (("descibe", "g"), "describe"),
        (("LIST",), "list"),
        (("remove-member",), "remove-members"),
        (("pipeline", "ingset"), "ingest"),
        (("ingset",), "pipeline ingest"),
        (("sandbox", "statsu"), "status"),
        (("sandbox", "strat"), "up"),
        (("sandbox", "stat"), "status"),
        (("sandbox", "STAT"), "status"),
        (("sandbox", "star"), "up"),
        (("repor",), "pipeline report"),
        (("sandbox", "stop"), "down"),
        (("schema", "lga"), "lag"),
        (("schema", "pipeline-reprot"), "pipeline-report"),
        (("completion", "bsh"), "bash"),
        (("--versoin",), "--version"),
        (("list", "--goup", "g"), "--group"),
        (("list", "--goup=g"), "--group"),
        (("list", "--stat"), "--state"),
        (("list", "--Verbose"), "--verbose"),
        (("list", "--bootstrap-servers", "b:1"), "--bootstrap-server"),
        (("list", "--bootstrap", "b:1"), "--bootstrap-server"),
        (("list", "--comand-config", "f"), "--command-config"),
        (("reset", "g", "--to-earlist"), "--to-earliest"),
        (("delete", "g", "--excute"), "--execute"),
        (("undo", "--lst"), "--list"),
        (("sandbox", "up", "--broker", "3"), "--brokers"),
        (("pipeline", "build", "--form", "2026-11-01"), "--from"),
        (("list", "--format", "josn"), "json"),
        (("list", "--format", "CSV"), "csv"),
        (("describe", "g", "--color", "alwyas"), "always"),
        (("lag", "--by", "partiton"), "partition"),
        (("lag", "--isolation", "commited"), "committed"),
        (("sandbox", "status", "--format", "jsn"), "json"),
        (("pipeline", "export", "--as", "parqet"), "parquet"),
        (("list", "--state", "Stabel"), "Stable"),
        (("list", "--state", "empty,stabel"), "Stable"),
        (("lag", "--state", "emtpy"), "Empty"),
        (("describe", "g", "--in-state", "PrepairingRebalance"), "PreparingRebalance"),
        (("offsets", "g", "--type", "consmer"), "Consumer"),
        (("lag", "--fail-if", "laag>5"), "lag"),
        (("lag", "--fail-if", "lag>5 and (mebmers==0)"), "members"),
        (("lag", "--by", "partition", "--fail-if", "commited_offset<5"), "committed_offset"),
        (("wait", "g", "--until", "Stat==Empty"), "state"),
        (("list", "-X", "bootstrap.server=b:1"), "bootstrap.servers"),
        (("list", "-X", "sasl.mechansim=PLAIN"), "sasl.mechanism"),
        (("list", "-X", "ssl.ca.loction=f"), "ssl.ca.location"),
        ((*HISTORY, "--table", "lag_histroy"), "lag_history"),
        (("pipeline", "compact", "--data-dir", "none", "--retention", "lag_histroy=9d"), "lag_history"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_the_error_suggests_the_nearest_name_and_nothing_runs(
    cluster: FakeCluster, arguments: tuple[str, ...], suggested: str
) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    assert outcome.stderr.count("did you mean") == 1
    assert f"; did you mean '{suggested}'?" in outcome.stderr
    cluster.client.assert_not_called()


@pytest.mark.parametrize(
    "arguments",
    [
        ("describe", "--reset-offsets"),
        ("describe", "g", "--execute"),
        ("describe", "g", "--topic", "t"),
        ("wait", "--topic", "t"),
        ("list", "--new-consumer"),
        ("list", "--version"),
        ("list", "--zookeeper", "z"),
        ("remove-members", "--all-groups"),
        ("delete-offsets", "g", "--all-topics"),
        ("delete", "g", "--all-topics"),
        ("pipeline", "export", "--all-groups"),
        ("reset-offsets",),
        ("consume",),
        ("pipeline", "lag"),
        ("sandbox", "logs"),
        ("schema", "nope"),
        ("completion", "tcsh"),
        ("list", "--format", "xml"),
        ("list", "--state", "orders"),
        ("list", "--type", "Stable"),
        ("list", "--state", "Classic"),
        ("lag", "--fail-if", "__import__==5"),
        ("list", "-X", "fetch.max.bytes=5"),
        ("list", "-X", "socket.timeout.ms=5"),
        ("-b", "b:1", "list"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("cluster")
def test_a_name_that_is_near_to_none_gets_no_suggestion(arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "did you mean" not in outcome.stderr.lower()
    assert "Possible options" not in outcome.stderr


def test_the_suggestion_stands_before_the_hint_at_the_help() -> None:
    message = "Error: No such command 'descibe'; did you mean 'describe'? See kafka-groups --help\n"
    assert run("descibe") == (2, "", message)
    message = "Error: No such option '--goup'; did you mean '--group'? See kafka-groups list --help\n"
    assert run("list", "--goup") == (2, "", message)


def test_several_misspelt_states_get_a_suggestion_each() -> None:
    assert "; did you mean 'Stable', 'Empty'? See" in run("list", "--state", "Stabel,Dead,Emtpy").stderr


def test_a_misspelt_profile_gets_the_nearest_one_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: FakeCluster
) -> None:
    monkeypatch.setattr("kafka_groups.settings.profiles.profiles_file", lambda: tmp_path / "profiles.toml")
    (tmp_path / "profiles.toml").write_text('[production]\nbootstrap.servers = "p:1"\n[test]\n')
    for arguments, environment in ((("--profile", "prodution"), {}), ((), {"KAFKA_GROUPS_PROFILE": "prodution"})):
        outcome = run("list", *arguments, bootstrap=None, **environment)
        assert outcome.exit_code == 2
        assert outcome.stderr.endswith("; it has: production, test; did you mean 'production'?\n")
    cluster.client.assert_not_called()
