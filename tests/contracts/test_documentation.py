"""The Python examples of the documentation and of docstrings print what they show, on a cluster of scripted brokers."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import kafka_groups
import kafka_groups.admin
from kafka_groups.groups.lag import group_lag
from kafka_groups.protocol import Struct
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id

ROOT = Path(__file__).parents[2]
DOCUMENTED = (kafka_groups, kafka_groups.admin, kafka_groups.GroupAdmin, group_lag.list_lag)
_BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<output>.*?)```)?", re.DOTALL)


class Example(NamedTuple):
    """Code, and what it prints; None if the page does not show it."""

    name: str
    code: str
    output: str | None


def page_examples() -> list[Example]:
    """Return the Python examples of docs/library.md."""
    text = (ROOT / "docs/library.md").read_text()
    return [Example(f"block {at}", *block.groups()) for at, block in enumerate(_BLOCK.finditer(text), start=1)]


def docstring_examples() -> list[Example]:
    """Return the indented examples of public docstrings, with the import that they leave to their context."""
    found = []
    for documented in DOCUMENTED:
        text = inspect.getdoc(documented) or ""
        code = textwrap.dedent("\n".join(line for line in text.splitlines() if line.startswith("    ") or not line))
        named = documented.__name__.rpartition(".")[2]
        found.append(Example(named, f"from kafka_groups import GroupAdmin, list_lag\n{code}", None))
    return found


def member(client_id: str) -> Struct:
    """Return a member of a KIP-848 group that owns two partitions of `orders`."""
    partitions = {"topic_id": topic_id("orders"), "topic_name": "orders", "partitions": [0, 1]}
    return {
        "member_id": "m",
        "member_epoch": 4,
        "client_id": client_id,
        "client_host": "/10.0.0.1",
        "subscribed_topic_names": ["orders"],
        "assignment": {"topic_partitions": [partitions]},
        "target_assignment": {"topic_partitions": [partitions]},
    }


@pytest.fixture(scope="module")
def cluster() -> Iterator[ScriptedCluster]:
    """The cluster of the examples."""
    groups = {
        "billing": Group(state="Empty", commits={("payments", 0): 25, ("payments", 1): 90}),
        "checkout": Group(coordinator=2, type="Consumer", commits={("orders", 0): 40}, members=[member("consumer-1")]),
    }
    topics = {"payments": {0: 1, 1: 2}, "orders": {0: 1, 1: 2}}
    with ScriptedCluster(brokers=2, groups=groups, topics=topics) as cluster:
        yield cluster


@pytest.mark.parametrize("example", [*page_examples(), *docstring_examples()], ids=lambda example: example.name)
def test_an_example_prints_what_the_documentation_shows(example: Example, cluster: ScriptedCluster) -> None:
    code = example.code.replace("localhost:9092", str(cluster.brokers[1].endpoint))
    assert "admin" in code
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, example.name, "exec"), ModuleType("example").__dict__)
    assert out.getvalue() == example.output if example.output is not None else True
    assert out.getvalue() or "print" not in code


def test_the_page_mentions_every_exported_call_and_error() -> None:
    text = (ROOT / "docs/library.md").read_text()
    calls = {name for name in dir(kafka_groups.GroupAdmin) if not name.startswith("_")}
    errors = {name for name in kafka_groups.__all__ if name.endswith("Error")}
    missing = {name for name in calls | errors if name not in text}
    assert missing == set()
