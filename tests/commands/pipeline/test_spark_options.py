"""Which Spark a command gets: what flags and the environment say, checked before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.pipeline.conftest import Rooms
from tests.commands.pipeline.test_pipeline_options import WITH_SPARK, refusal
from tests.fakes.fake_admin import run


@pytest.fixture(autouse=True)
def a_bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MASTER", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("command", WITH_SPARK)
@pytest.mark.usefixtures("rooms")
def test_a_master_contradicts_a_remote(into: str, command: str) -> None:
    told = refusal(command, "--into", into, "--master", "local[2]", "--remote", "sc://h")
    assert told == "--master contradicts --remote: give one or the other"


@pytest.mark.parametrize("command", WITH_SPARK)
@pytest.mark.parametrize(
    ("flag", "value", "told"),
    [
        ("--master", "foo", "--master 'foo' is none of Spark's; write for example local[4] or spark://host:7077"),
        ("--master", "spark://h", "--master 'spark://h' is none of Spark's; "),
        ("--master", "local[x]", "--master 'local[x]' is none of Spark's; "),
        ("--master", "local[0]", "--master 'local[0]' is none of Spark's; "),
        ("--master", "mesos://h:5050", "--master 'mesos://h:5050' is none of Spark's; "),
        ("--driver-memory", "1x", "--driver-memory '1x' is no size; write for example 512m or 4g"),
        ("--driver-memory", "0g", "--driver-memory '0g' is no size; "),
        ("--driver-memory", "1k", "--driver-memory '1k' is too little, Spark wants 450m at the least; "),
        ("--driver-memory", "449M", "--driver-memory '449M' is too little, "),
        ("--remote", "nonsense", "--remote 'nonsense' is no Spark Connect URL; write for example sc://host:15002"),
        ("--remote", "local[x]", "--remote 'local[x]' is no Spark Connect URL; "),
        ("--remote", "sc://", "--remote 'sc://' is no Spark Connect URL; "),
        ("--remote", "sc://h:port", "--remote 'sc://h:port' is no Spark Connect URL; "),
        ("--remote", "sc://[::1", "--remote 'sc://[::1' is no Spark Connect URL; "),
        ("--spark-log", "/no/such/log", "--spark-log /no/such/log: there is no directory /no/such"),
    ],
)
def test_flags_that_no_spark_could_take_are_usage_errors(
    rooms: Rooms, into: str, command: str, flag: str, value: str, told: str
) -> None:
    assert refusal(command, "--into", into, flag, value).startswith(told)
    rooms.spark.assert_not_called()


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[2, 3]", "local-cluster[1,1,1024]", "yarn", "spark://a:1,b:2", "k8s://https://h:6443"],
)
def test_all_masters_of_spark_are_taken(rooms: Rooms, into: str, master: str) -> None:
    assert run("pipeline", "build", "--into", into, "--master", master).exit_code == 0
    assert rooms.spark.call_args.kwargs["master"] == master


@pytest.mark.parametrize("remote", ["local", "local[2]", "local[*]", "sc://h", "sc://[::1]:15002/;token=x"])
def test_all_remotes_of_spark_are_taken(rooms: Rooms, into: str, remote: str) -> None:
    assert run("pipeline", "build", "--into", into, "--remote", remote).exit_code == 0
    assert rooms.spark.call_args.kwargs["remote"] == remote


@pytest.mark.parametrize("size", ["450m", "512M", "1g", "1T"])
def test_memory_that_spark_starts_with_is_taken(rooms: Rooms, into: str, size: str) -> None:
    assert run("pipeline", "build", "--into", into, "--driver-memory", size).exit_code == 0
    assert rooms.spark.call_args.kwargs["memory"] == size


def test_a_token_is_not_told_back(rooms: Rooms, into: str) -> None:
    told = refusal("build", "--into", into, SPARK_REMOTE="sc://h:port/;token=hunter2")
    assert told.startswith("SPARK_REMOTE, of the environment, 'sc://h:port/' is no Spark Connect URL; ")
    rooms.spark.assert_not_called()


def test_what_the_environment_says_is_checked_under_its_name(rooms: Rooms, into: str) -> None:
    told = refusal("build", "--into", into, MASTER="foo")
    assert (
        told == "MASTER, of the environment, 'foo' is none of Spark's; write for example local[4] or spark://host:7077"
    )
    told = refusal("build", "--into", into, SPARK_REMOTE="foo", MASTER="local[2]")
    assert told.startswith("SPARK_REMOTE, of the environment, 'foo' is no Spark Connect URL; ")
    rooms.spark.assert_not_called()


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        (("--master", "local[2]"), {"MASTER": "foo", "SPARK_REMOTE": "foo"}),
        (("--remote", "sc://h"), {"MASTER": "foo", "SPARK_REMOTE": "foo"}),
        ((), {"MASTER": "foo", "SPARK_REMOTE": "sc://h"}),
        ((), {"MASTER": "foo", "SPARK_REMOTE": "foo", "PYSPARK_GATEWAY_PORT": "1"}),
    ],
)
def test_what_does_not_count_may_be_anything(
    rooms: Rooms, into: str, flags: tuple[str, ...], environment: dict[str, str]
) -> None:
    assert run("pipeline", "build", "--into", into, *flags, **environment).exit_code == 0
    rooms.spark.assert_called_once()


def test_help_names_the_variables() -> None:
    told = " ".join(run("pipeline", "build", "--help").stdout.split())
    assert [name for name in ("[env: MASTER; default: local[*]]", "[env: SPARK_REMOTE]") if name not in told] == []


@pytest.mark.parametrize(("flag", "value"), [("--master", "local[2]"), ("--driver-memory", "4g")])
def test_what_spark_submit_has_settled_cannot_be_asked_for(rooms: Rooms, into: str, flag: str, value: str) -> None:
    told = refusal("build", "--into", into, flag, value, PYSPARK_GATEWAY_PORT="1")
    assert told == (
        f"{flag} comes too late: spark-submit has started Spark; give it to spark-submit, before the program"
    )
    rooms.spark.assert_not_called()


def test_the_flags_say_which_spark(rooms: Rooms, into: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    flags = ("--master", "local[3]", "--driver-memory", "4g", "--spark-log", str(log), "--fetch-java")
    run("pipeline", "build", "--into", into, *flags)
    assert rooms.spark.call_args.kwargs == {
        "master": "local[3]",
        "remote": None,
        "log": log,
        "memory": "4g",
        "fetch": True,
        "brief": True,
    }
