"""A Spark Connect server in this process's JVM, on a port that nobody has, for --remote local[N]."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK: Final = "127.0.0.1"
# What pyspark's own builder sets for `local`; that one always takes port 15002, so no two could run at once.
_SERVING: Final = {
    "spark.api.mode": "classic",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.sql.artifact.isolation.enabled": "true",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
    "spark.connect.grpc.binding.address": LOOPBACK,
}


def serve(master: str, options: Mapping[str, str]) -> tuple[SparkSession, str]:
    """Return the session that serves, to be stopped in the end, and the URL where it does.

    The token that it wants is left in the environment, where clients and workers look for it: the caller restores the
    environment.
    """
    from pyspark.sql import SparkSession

    port = _free_port()
    os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = secrets.token_urlsafe(32)
    settings: dict[str, bool | float | int | str | None] = {**options, **_SERVING}
    settings |= {"spark.master": master, "spark.connect.grpc.binding.port": str(port)}
    server = SparkSession.builder.appName("kafka-groups").config(map=settings).getOrCreate()
    # By name: for a number, Spark's client would want TLS before it shows a token.
    return server, f"sc://localhost:{port}"


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        port: int = taken.getsockname()[1]
        return port
