"""Changes of the offsets of a real Kafka Streams application, executed and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups import sandbox
from tests.live.conftest import Cluster
from tests.live.groups.clients import read_offsets, run_command
from tests.live.groups.conditions import wait_until
from tests.live.groups.streams_application import RECORDS, StreamsApplication, word_count

pytestmark = [pytest.mark.live, pytest.mark.timeout(180)]

EXECUTE = ("--execute", "--yes")


@pytest.fixture(scope="module")
def application(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamsApplication]:
    """Yield an application that has processed its input, and whose group is Empty."""
    directory = tmp_path_factory.mktemp("word-count")
    with word_count(cluster.bootstrap, directory, version=sandbox.DEFAULT_VERSION, instances=1) as application:
        wait_until(
            lambda: application.repartition_topic in {topic for topic, _ in _commits(application)},
            lambda: str(_commits(application)),
        )
        application.stop_all()
        yield application


def _commits(application: StreamsApplication) -> dict[tuple[str, int], int]:
    return read_offsets(application.bootstrap, application.group)


def test_a_reset_leaves_offsets_on_internal_topics_and_names_them(
    application: StreamsApplication, tmp_path: Path
) -> None:
    before = _commits(application)
    arguments = ("reset", application.group, "--all-topics", "--to-earliest", *EXECUTE)
    reset = run_command(application.bootstrap, *arguments, home=tmp_path)
    internal = {key: offset for key, offset in before.items() if key[0] == application.repartition_topic}
    inputs = {key: 0 for key in before if key[0] == application.input_topic}
    assert (_commits(application), reset.code) == ({**internal, **inputs}, 0)
    assert f"offsets on 1 internal topic ('{application.repartition_topic}') stay as they are" in reset.err
    undone = run_command(application.bootstrap, "undo", *EXECUTE, home=tmp_path)
    assert (_commits(application), undone.code) == (before, 0)


def test_the_option_includes_internal_topics(application: StreamsApplication, tmp_path: Path) -> None:
    before = _commits(application)
    arguments = ("reset", application.group, "--all-topics", "--to-earliest", "--internal-topics", *EXECUTE)
    reset = run_command(application.bootstrap, *arguments, home=tmp_path)
    assert (set(_commits(application).values()), reset.code) == ({0}, 0)
    assert f"the plan has offsets on 1 internal topic ('{application.repartition_topic}')" in reset.err
    assert run_command(application.bootstrap, "undo", *EXECUTE, home=tmp_path).code == 0
    assert _commits(application) == before


def test_a_deleted_streams_group_comes_back_with_its_commits_and_the_application_continues(
    application: StreamsApplication, tmp_path: Path
) -> None:
    before = _commits(application)
    assert run_command(application.bootstrap, "delete", application.group, *EXECUTE, home=tmp_path).code == 0
    assert _commits(application) == {}
    assert run_command(application.bootstrap, "undo", *EXECUTE, home=tmp_path).code == 0
    assert _commits(application) == before
    application.start(1)
    application.await_stable(members=1)
    busy = run_command(application.bootstrap, "reset", application.group, "--all-topics", "--to-earliest", *EXECUTE)
    application.stop_all()
    assert (busy.code, "it is Stable with 1 member" in busy.err) == (1, True)
    assert sum(offset for (topic, _), offset in _commits(application).items() if topic == application.input_topic) >= (
        RECORDS
    )
