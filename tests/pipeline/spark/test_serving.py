"""A Spark Connect server that a session starts for itself."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.pipeline.spark.test_quiet_session import run

_SPARKS_OWN_PORT = 15_002


@pytest.mark.spark
def test_it_starts_where_the_usual_port_is_taken(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", _SPARKS_OWN_PORT))
        other.listen()
        done = run(tmp_path / "log", "remote", "work")

    assert done.said == ("", "", 0)
    assert done.found["connect"] is True
