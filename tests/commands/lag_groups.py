"""The groups of the tests of `lag`."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member

NOTE = "1 group of another kind is skipped (connect).\n"


def add_lag_groups(cluster: FakeCluster) -> None:
    """Add a group that is behind, one that has lost messages, one beyond the end, and a Connect group."""
    members = [member("m1", {"t": (0, 1)}), member("m2", {"t": (2,)}, client_id="other")]
    cluster.add("behind", state="Stable", members=members, commits={("t", 0): 10, ("t", 1): 90})
    cluster.add("lost", commits={("u", 0): 3})
    cluster.add("beyond", commits={("u", 0): 25})
    cluster.add("connect-sink", state="Stable", protocol_type="connect")
    cluster.end("t", 100, 100, 100, starts=(0, 0, 0))
    cluster.end("u", 20, starts=(10,))


def document_of(*arguments: str) -> dict[str, Any]:
    """Return the JSON document that `lag` prints."""
    document: dict[str, Any] = json.loads(run("lag", *arguments, "--format", "json").stdout)
    return document
