"""The options and variables that choose a Spark, checked before it is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.command_line import run
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.commands.test_pipeline_options import WITH_SPARK, refusal


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MASTER", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("command", WITH_SPARK)
@pytest.mark.usefixtures("fakes")
def test_a_master_contradicts_a_remote(data_dir: str, command: str) -> None:
    message = refusal(command, "--data-dir", data_dir, "--master", "local[2]", "--remote", "sc://h")
    assert message == "--master contradicts --remote: give one or the other"


@pytest.mark.parametrize("command", WITH_SPARK)
@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--master", "foo", "--master 'foo' is not a Spark master; write for example local[4] or spark://host:7077"),
        ("--master", "spark://h", "--master 'spark://h' is not a Spark master; "),
        ("--master", "local[x]", "--master 'local[x]' is not a Spark master; "),
        ("--master", "local[0]", "--master 'local[0]' is not a Spark master; "),
        ("--master", "mesos://h:5050", "--master 'mesos://h:5050' is not a Spark master; "),
        ("--driver-memory", "1x", "--driver-memory '1x' is not a size; write for example 512m or 4g"),
        ("--driver-memory", "0g", "--driver-memory '0g' is not a size; "),
        ("--driver-memory", "1k", "--driver-memory '1k' is too small: Spark needs at least 450m; "),
        ("--driver-memory", "449M", "--driver-memory '449M' is too small: "),
        ("--remote", "nonsense", "--remote 'nonsense' is not a Spark Connect URL; write for example sc://host:15002"),
        ("--remote", "local[2]", "--remote 'local[2]' is not a Spark Connect URL; "),
        ("--remote", "sc://", "--remote 'sc://' is not a Spark Connect URL; "),
        ("--remote", "sc://h:port", "--remote 'sc://h:port' is not a Spark Connect URL; "),
        ("--remote", "sc://[::1", "--remote 'sc://[::1' is not a Spark Connect URL; "),
        ("--conf", "spark.local.dir", "--conf 'spark.local.dir' is not a property of Spark; write for example "),
        ("--conf", "local.dir=secret", "--conf 'local.dir' is not a property of Spark; "),
        ("--conf", "spark.master=local[2]", "--conf spark.master: give --master instead"),
        ("--spark-log", "/no/such/log", "--spark-log /no/such/log: there is no directory /no/such"),
    ],
)
def test_values_that_no_spark_accepts_are_usage_errors(
    fakes: FakePipeline, data_dir: str, command: str, flag: str, value: str, message: str
) -> None:
    assert refusal(command, "--data-dir", data_dir, flag, value).startswith(message)
    fakes.spark.assert_not_called()


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[2, 3]", "local-cluster[1,1,1024]", "yarn", "spark://a:1,b:2", "k8s://https://h:6443"],
)
def test_all_masters_of_spark_are_accepted(fakes: FakePipeline, data_dir: str, master: str) -> None:
    assert run("pipeline", "build", "--data-dir", data_dir, "--master", master).exit_code == 0
    assert fakes.spark.call_args.kwargs["master"] == master


@pytest.mark.parametrize("remote", ["sc://h", "sc://[::1]:15002/;token=x"])
def test_all_remotes_of_spark_are_accepted(fakes: FakePipeline, data_dir: str, remote: str) -> None:
    assert run("pipeline", "build", "--data-dir", data_dir, "--remote", remote).exit_code == 0
    assert fakes.spark.call_args.kwargs["remote"] == remote


@pytest.mark.parametrize("size", ["450m", "512M", "1g", "1T"])
def test_memory_sizes_that_spark_starts_with_are_accepted(fakes: FakePipeline, data_dir: str, size: str) -> None:
    assert run("pipeline", "build", "--data-dir", data_dir, "--driver-memory", size).exit_code == 0
    assert fakes.spark.call_args.kwargs["memory"] == size


def test_an_error_does_not_show_a_token(fakes: FakePipeline, data_dir: str) -> None:
    message = refusal("build", "--data-dir", data_dir, SPARK_REMOTE="sc://h:port/;token=hunter2")
    assert message.startswith("environment variable SPARK_REMOTE: 'sc://h:port/' is not a Spark Connect URL; ")
    fakes.spark.assert_not_called()


def test_an_error_names_the_environment_variable(fakes: FakePipeline, data_dir: str) -> None:
    message = refusal("build", "--data-dir", data_dir, MASTER="foo")
    assert message == (
        "environment variable MASTER: 'foo' is not a Spark master; write for example local[4] or spark://host:7077"
    )
    message = refusal("build", "--data-dir", data_dir, SPARK_REMOTE="foo", MASTER="local[2]")
    assert message.startswith("environment variable SPARK_REMOTE: 'foo' is not a Spark Connect URL; ")
    fakes.spark.assert_not_called()


@pytest.mark.parametrize(
    ("flags", "environment"),
    [
        (("--master", "local[2]"), {"MASTER": "foo", "SPARK_REMOTE": "foo"}),
        (("--remote", "sc://h"), {"MASTER": "foo", "SPARK_REMOTE": "foo"}),
        ((), {"MASTER": "foo", "SPARK_REMOTE": "sc://h"}),
        ((), {"MASTER": "foo", "SPARK_REMOTE": "foo", "PYSPARK_GATEWAY_PORT": "1"}),
    ],
)
def test_values_without_effect_are_not_checked(
    fakes: FakePipeline, data_dir: str, flags: tuple[str, ...], environment: dict[str, str]
) -> None:
    assert run("pipeline", "build", "--data-dir", data_dir, *flags, **environment).exit_code == 0
    fakes.spark.assert_called_once()


def test_help_names_the_variables() -> None:
    text = " ".join(run("pipeline", "build", "--help").stdout.split())
    assert [name for name in ("[env: MASTER; default: local[*]]", "[env: SPARK_REMOTE]") if name not in text] == []


@pytest.mark.parametrize(("flag", "value"), [("--master", "local[2]"), ("--driver-memory", "4g")])
def test_options_that_spark_submit_decides_are_usage_errors(
    fakes: FakePipeline, data_dir: str, flag: str, value: str
) -> None:
    message = refusal("build", "--data-dir", data_dir, flag, value, PYSPARK_GATEWAY_PORT="1")
    assert message == (
        f"{flag} is too late: spark-submit has started Spark; pass it to spark-submit, before the program"
    )
    fakes.spark.assert_not_called()


def test_the_options_choose_the_spark(fakes: FakePipeline, data_dir: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    flags = ("--master", "local[3]", "--driver-memory", "4g", "--spark-log", str(log), "--fetch-java")
    run("pipeline", "build", "--data-dir", data_dir, *flags)
    assert fakes.spark.call_args.kwargs == {
        "master": "local[3]",
        "remote": None,
        "log": log,
        "memory": "4g",
        "conf": {},
        "fetch": True,
        "brief": True,
    }


def test_properties_are_those_of_the_spark_that_is_started(fakes: FakePipeline, data_dir: str) -> None:
    options = ("--conf", "spark.local.dir=/data/tmp", "--conf", "spark.executor.extraJavaOptions=-Da=b")
    assert run("pipeline", "build", "--data-dir", data_dir, *options).exit_code == 0
    expected = {"spark.local.dir": "/data/tmp", "spark.executor.extraJavaOptions": "-Da=b"}
    assert fakes.spark.call_args.kwargs["conf"] == expected


@pytest.mark.usefixtures("fakes")
def test_properties_of_a_spark_that_runs_already_are_refused(data_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("build", "--data-dir", data_dir, "--conf", "spark.local.dir=/data/tmp")
    message = "--conf has no effect on a Spark that runs already: pass it to spark-submit or to the server"
    assert refusal(*options, "--remote", "sc://h") == message
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert refusal(*options) == message
