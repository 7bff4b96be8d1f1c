"""Who can reach the Spark Connect server that a session starts for itself: this machine alone, with a token."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kafka_groups.pipeline.spark.connect_server import serve

if TYPE_CHECKING:
    import pytest
    from pytest_mock import MockerFixture

_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # the name of a variable


def test_the_server_listens_on_the_loopback_address_and_wants_a_token(
    mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_TOKEN, "")
    builder = mocker.patch("pyspark.sql.SparkSession").builder

    _, url = serve("local[2]", {"spark.connect.grpc.binding.address": "0.0.0.0", "spark.ui.enabled": "false"})

    settings = builder.appName.return_value.config.call_args.kwargs["map"]
    assert settings["spark.connect.grpc.binding.address"] == "127.0.0.1"
    assert (urlsplit(url).hostname, urlsplit(url).port) == (
        "localhost",
        int(settings["spark.connect.grpc.binding.port"]),
    )
    assert (settings["spark.master"], settings["spark.ui.enabled"]) == ("local[2]", "false")
    assert len(os.environ[_TOKEN]) > 32
