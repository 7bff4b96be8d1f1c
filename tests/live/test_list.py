"""`kafka-groups list` against three brokers that hold a group in every state and of every kind."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.asking import Answer, ask
from tests.live.groups.members import delete_group, empty, preparing_rebalance, reconciling, simple, stable
from tests.live.groups.other_kinds import share, streams
from tests.live.groups.raw_members import assigning, completing_rebalance, connect
from tests.live.groups.together import together
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

EVERY_KIND = {
    "stable_classic": ("Classic", "Stable", "consumer"),
    "stable_consumer": ("Consumer", "Stable", "consumer"),
    "empty_classic": ("Classic", "Empty", "consumer"),
    "empty_consumer": ("Consumer", "Empty", "consumer"),
    "simple": ("Classic", "Empty", "-"),
    "preparing": ("Classic", "PreparingRebalance", "consumer"),
    "completing": ("Classic", "CompletingRebalance", "consumer"),
    "reconciling": ("Consumer", "Reconciling", "consumer"),
    "connect": ("Classic", "Stable", "connect"),
    "share": ("Share", "Stable", "share"),
    "streams": ("Streams", "Assigning", "streams"),
}


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=3)


@pytest.fixture(scope="module")
def held(cluster: Cluster, topic: str) -> Iterator[dict[str, str]]:
    """The ids of groups that stay as EVERY_KIND says."""
    where, commits = cluster.bootstrap, [(topic, 0, 2)]
    with together(
        stable_classic=stable(where, topic, commits=commits),
        stable_consumer=stable(where, topic, commits=commits, consumer_protocol=True),
        empty_classic=empty(where, topic, commits=commits),
        empty_consumer=empty(where, topic, commits=commits, consumer_protocol=True),
        simple=simple(where, commits=commits),
        preparing=preparing_rebalance(where, topic),
        completing=completing_rebalance(where, topic),
        reconciling=reconciling(where, topic),
        connect=connect(where),
        share=share(where, topic),
        streams=streams(where, topic),
    ) as groups:
        yield groups


def _of(held: dict[str, str], answer: Answer) -> dict[str, list[str]]:
    """The cells behind each held group's id, by the name it is held under."""
    ids = {group: name for name, group in held.items()}
    assert answer.err == ""
    assert answer.code == 0
    return {ids[row[0]]: row[1:] for row in answer.rows if row[0] in ids}


def test_every_kind_of_group_is_listed_with_its_type_state_and_protocol(cluster: Cluster, held: dict[str, str]) -> None:
    answer = ask(cluster.bootstrap, "list", "--state", "--type", "--verbose")

    assert answer.rows[0] == ["GROUP", "TYPE", "STATE", "PROTOCOL"]
    assert _of(held, answer) == {name: list(cells) for name, cells in EVERY_KIND.items()}


def test_a_group_that_waits_for_its_assignment_is_assigning(cluster: Cluster, topic: str) -> None:
    with assigning(cluster.bootstrap, topic) as group:
        answer = ask(cluster.bootstrap, "list", "--state", "ASSIGNING", "--type", "consumer")

    assert [group, "Consumer", "Assigning"] in answer.rows
    assert (answer.err, answer.code) == ("", 0)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("Stable,Empty", {"Stable", "Empty"}),
        ("stable, EMPTY,", {"Stable", "Empty"}),
        ("preparingrebalance", {"PreparingRebalance"}),
        ("COMPLETINGREBALANCE,Reconciling", {"CompletingRebalance", "Reconciling"}),
    ],
)
def test_only_groups_in_a_named_state_are_listed(
    cluster: Cluster, held: dict[str, str], text: str, states: set[str]
) -> None:
    answer = ask(cluster.bootstrap, "list", "--state", text)

    assert answer.rows[0] == ["GROUP", "STATE"]
    assert _of(held, answer) == {name: [cells[1]] for name, cells in EVERY_KIND.items() if cells[1] in states}


@pytest.mark.parametrize("of_type", ["Classic", "Consumer", "Share", "Streams"])
def test_only_groups_of_a_named_type_are_listed(cluster: Cluster, held: dict[str, str], of_type: str) -> None:
    answer = ask(cluster.bootstrap, "list", "--type", of_type.upper())

    assert answer.rows[0] == ["GROUP", "TYPE"]
    assert _of(held, answer) == {name: [of_type] for name, cells in EVERY_KIND.items() if cells[0] == of_type}


def test_state_and_type_narrow_together(cluster: Cluster, held: dict[str, str]) -> None:
    answer = ask(cluster.bootstrap, "list", "--type", "consumer", "--state", "stable")

    assert answer.rows[0] == ["GROUP", "TYPE", "STATE"]
    assert _of(held, answer) == {"stable_consumer": ["Consumer", "Stable"]}


@pytest.mark.usefixtures("held")
def test_no_group_in_a_state_is_a_header_and_a_note(cluster: Cluster) -> None:
    answer = ask(cluster.bootstrap, "list", "--state", "NotReady")

    assert answer.rows == [["GROUP", "STATE"]]
    assert (answer.err, answer.code) == ("No group matches.\n", 0)


def test_piped_it_is_one_bare_id_a_line_in_order(cluster: Cluster, held: dict[str, str]) -> None:
    answer = ask(cluster.bootstrap, "list")

    ids = answer.out.split("\n")[:-1]
    assert ids == sorted(ids)
    assert set(held.values()) <= set(ids)
    assert (answer.err, answer.code) == ("", 0)


def test_quiet_prints_ids_whatever_the_filters(cluster: Cluster, held: dict[str, str]) -> None:
    lines = ask(cluster.bootstrap, "list", "-q", "--state", "Reconciling", "--type", "Consumer")
    nul = ask(cluster.bootstrap, "list", "-q", "-0", "--state", "Reconciling", "--type", "Consumer")

    assert lines.out == f"{held['reconciling']}\n"
    assert nul.out == f"{held['reconciling']}\0"
    assert (lines.err, nul.err, lines.code, nul.code) == ("", "", 0, 0)


def test_json_carries_all_keys_without_being_asked(cluster: Cluster, held: dict[str, str]) -> None:
    answer = ask(cluster.bootstrap, "list", "--format", "json", *held.values())

    keys = ("type", "state", "protocol_type")
    expected = [
        {"group": group, **dict(zip(keys, _spelled(EVERY_KIND[name]), strict=True))} for name, group in held.items()
    ]
    assert answer.json["groups"] == sorted(expected, key=lambda document: document["group"])
    assert (answer.json["schema"], answer.json["status"]) == ("kafka-groups/list/1", "complete")
    assert answer.json["errors"] == []
    assert (answer.err, answer.code) == ("", 0)


def _spelled(cells: tuple[str, str, str]) -> tuple[str, str, str]:
    of_type, state, protocol = cells
    return of_type, state, protocol.replace("-", "")


def test_ndjson_and_csv_say_the_same_as_json(cluster: Cluster, held: dict[str, str]) -> None:
    document = ask(cluster.bootstrap, "list", "--format", "json", *held.values()).json
    lines = ask(cluster.bootstrap, "list", "--format", "ndjson", *held.values())
    table = ask(cluster.bootstrap, "list", "--format", "csv", *held.values())

    assert [json.loads(line) for line in lines.out.splitlines()] == document["groups"]
    header, *rows = csv.reader(io.StringIO(table.out))
    assert header == ["GROUP", "TYPE", "STATE", "PROTOCOL"]
    assert rows == [list(group.values()) for group in document["groups"]]


def test_an_id_that_is_no_group_is_an_error_beside_the_others(cluster: Cluster, held: dict[str, str]) -> None:
    answer = ask(cluster.bootstrap, "list", held["simple"], "no-such-group")

    assert answer.out == f"{held['simple']}\n"
    assert answer.err == "Error: group 'no-such-group': there is no such group (GROUP_ID_NOT_FOUND)\n"
    assert answer.code == 3


def test_a_deleted_group_is_no_longer_listed(cluster: Cluster, topic: str) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 1)]) as group:
        before = ask(cluster.bootstrap, "list")
        delete_group(cluster.bootstrap, group)
        after = ask(cluster.bootstrap, "list")

    assert [group] in before.rows
    assert [group] not in after.rows


@pytest.mark.parametrize("option", ["--state", "--type"])
@pytest.mark.parametrize("text", ["bad, wrong", "  bad, Stable, Classic", "   ,   ,"])
def test_a_name_that_is_none_is_a_usage_error_that_names_the_valid_ones(
    cluster: Cluster, option: str, text: str
) -> None:
    answer = ask(cluster.bootstrap, "list", option, text)

    valid = {"--state": "Stable, Empty, PreparingRebalance", "--type": "Classic, Consumer, Share, Streams"}
    assert valid[option] in answer.err
    assert (answer.out, len(answer.notes), answer.code) == ("", 1, 2)
