"""Errors before Spark is started: a package that is missing or old, a server that cannot be reached."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_groups.errors import PipelineError, SparkMissingError
from kafka_groups.pipeline.spark.requirements import check_connect, check_master, check_pyspark, check_server
from kafka_groups.pipeline.spark.session import start_session
from kafka_groups.sandbox.ports import free_ports


def test_an_error_without_pyspark_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.version", None)
    with pytest.raises(SparkMissingError) as caught:
        check_pyspark()
    assert str(caught.value) == "pyspark is not installed; run pip install 'kafka-groups[spark]'"


@pytest.mark.parametrize("version", ["4.1.3", "3.5.0", "4.0"])
def test_an_old_pyspark_is_refused_with_its_version(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.version", SimpleNamespace(__version__=version))
    with pytest.raises(
        SparkMissingError, match=f"pyspark {version} is too old: 4.2 or newer is needed; run pip install"
    ):
        check_pyspark()


@pytest.mark.parametrize("version", ["4.2.0", "4.10.1", "4.3.0.dev1", "5.0.0"])
def test_newer_versions_of_pyspark_are_accepted(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.version", SimpleNamespace(__version__=version))
    assert check_pyspark() == version


def test_a_missing_package_of_spark_connect_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(SparkMissingError) as caught:
        check_connect()
    message = "--remote needs Spark Connect's packages (grpc missing); run pip install 'kafka-groups[connect]'"
    assert str(caught.value) == message


def test_an_unreachable_server_is_reported_at_once(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    session = start_session(remote=f"sc://127.0.0.1:{port}", log=tmp_path / "log")
    with pytest.raises(PipelineError, match=f"cannot connect to the Spark Connect server 127.0.0.1:{port}"), session:
        pytest.fail("there is no server")


def test_an_unreachable_master_is_reported_at_once(tmp_path: Path) -> None:
    ports = free_ports(2)
    master = f"spark://127.0.0.1:{ports[0]},[::1]:{ports[1]}"
    session = start_session(master=master, log=tmp_path / "log")
    with (
        pytest.raises(PipelineError, match=rf"cannot connect to a Spark master: 127.0.0.1:{ports[0]}: .*; \[::1\]:"),
        session,
    ):
        pytest.fail("there is no master")


def test_one_reachable_master_is_enough() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        check_master(f"spark://127.0.0.1:{free_ports(1)[0]},127.0.0.1:{listening.getsockname()[1]}")
    for other in ("local[*]", "yarn", "k8s://https://nowhere:1"):
        check_master(other)


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "grpc_proxy"])
def test_behind_a_proxy_the_server_is_not_checked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://proxy")
    check_server(f"sc://127.0.0.1:{free_ports(1)[0]}")


def test_without_java_no_session_starts_and_no_log_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    session = start_session(master="local[2]", log=tmp_path / "log")
    with pytest.raises(SparkMissingError, match="Spark needs a JDK 17 or newer"), session:
        pytest.fail("there is no Java")
    assert not (tmp_path / "log").exists()
