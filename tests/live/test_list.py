"""`kafka-groups list` on three brokers with a group in every state and of every kind."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest

from tests.live.groups.clients import CommandResult, run_command
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import delete_group, empty, preparing_rebalance, reconciling, simple, stable
from tests.live.groups.other_kinds import share, streams
from tests.live.groups.raw_members import assigning, completing_rebalance, connect
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
def groups(cluster: Cluster, topic: str) -> Iterator[dict[str, str]]:
    """Yield the ids of groups that keep the states of EVERY_KIND."""
    bootstrap, commits = cluster.bootstrap, [(topic, 0, 2)]
    with enter_concurrently(
        stable_classic=stable(bootstrap, topic, commits=commits),
        stable_consumer=stable(bootstrap, topic, commits=commits, consumer_protocol=True),
        empty_classic=empty(bootstrap, topic, commits=commits),
        empty_consumer=empty(bootstrap, topic, commits=commits, consumer_protocol=True),
        simple=simple(bootstrap, commits=commits),
        preparing=preparing_rebalance(bootstrap, topic),
        completing=completing_rebalance(bootstrap, topic),
        reconciling=reconciling(bootstrap, topic),
        connect=connect(bootstrap),
        share=share(bootstrap, topic),
        streams=streams(bootstrap, topic),
    ) as groups:
        yield groups


def _cells_of(groups: dict[str, str], result: CommandResult) -> dict[str, list[str]]:
    """Return the cells after the id of each of these groups, by the group's name in EVERY_KIND."""
    ids = {group: name for name, group in groups.items()}
    assert result.err == ""
    assert result.code == 0
    return {ids[row[0]]: row[1:] for row in result.rows if row[0] in ids}


def test_every_kind_of_group_is_listed_with_its_type_state_and_protocol(
    cluster: Cluster, groups: dict[str, str]
) -> None:
    result = run_command(cluster.bootstrap, "list", "--state", "--type", "--verbose")

    assert result.rows[0] == ["GROUP", "TYPE", "STATE", "PROTOCOL"]
    assert _cells_of(groups, result) == {name: list(cells) for name, cells in EVERY_KIND.items()}


def test_a_group_that_waits_for_its_assignment_is_listed_as_assigning(cluster: Cluster, topic: str) -> None:
    with assigning(cluster.bootstrap, topic) as group:
        result = run_command(cluster.bootstrap, "list", "--state", "ASSIGNING", "--type", "consumer")

    assert [group, "Consumer", "Assigning"] in result.rows
    assert (result.err, result.code) == ("", 0)


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
    cluster: Cluster, groups: dict[str, str], text: str, states: set[str]
) -> None:
    result = run_command(cluster.bootstrap, "list", "--state", text)

    assert result.rows[0] == ["GROUP", "STATE"]
    assert _cells_of(groups, result) == {name: [cells[1]] for name, cells in EVERY_KIND.items() if cells[1] in states}


@pytest.mark.parametrize("of_type", ["Classic", "Consumer", "Share", "Streams"])
def test_only_groups_of_a_named_type_are_listed(cluster: Cluster, groups: dict[str, str], of_type: str) -> None:
    result = run_command(cluster.bootstrap, "list", "--type", of_type.upper())

    assert result.rows[0] == ["GROUP", "TYPE"]
    assert _cells_of(groups, result) == {name: [of_type] for name, cells in EVERY_KIND.items() if cells[0] == of_type}


def test_a_state_and_a_type_are_both_required(cluster: Cluster, groups: dict[str, str]) -> None:
    result = run_command(cluster.bootstrap, "list", "--type", "consumer", "--state", "stable")

    assert result.rows[0] == ["GROUP", "TYPE", "STATE"]
    assert _cells_of(groups, result) == {"stable_consumer": ["Consumer", "Stable"]}


@pytest.mark.usefixtures("groups")
def test_a_state_without_groups_prints_a_header_and_a_note(cluster: Cluster) -> None:
    result = run_command(cluster.bootstrap, "list", "--state", "NotReady")

    assert result.rows == [["GROUP", "STATE"]]
    assert (result.err, result.code) == ("No group matches.\n", 0)


def test_a_piped_list_is_one_id_a_line_in_order(cluster: Cluster, groups: dict[str, str]) -> None:
    result = run_command(cluster.bootstrap, "list")

    ids = result.out.split("\n")[:-1]
    assert ids == sorted(ids)
    assert set(groups.values()) <= set(ids)
    assert (result.err, result.code) == ("", 0)


def test_quiet_prints_ids_whatever_the_filters(cluster: Cluster, groups: dict[str, str]) -> None:
    lines = run_command(cluster.bootstrap, "list", "-q", "--state", "Reconciling", "--type", "Consumer")
    nul = run_command(cluster.bootstrap, "list", "-q", "-0", "--state", "Reconciling", "--type", "Consumer")

    assert lines.out == f"{groups['reconciling']}\n"
    assert nul.out == f"{groups['reconciling']}\0"
    assert (lines.err, nul.err, lines.code, nul.code) == ("", "", 0, 0)


def test_json_has_all_keys_without_options(cluster: Cluster, groups: dict[str, str]) -> None:
    result = run_command(cluster.bootstrap, "list", "--format", "json", *groups.values())

    keys = ("type", "state", "protocol_type")
    expected = [
        {
            "cluster": ANY,
            "cluster_id": ANY,
            "group": group,
            **dict(zip(keys, _json_cells(EVERY_KIND[name]), strict=True)),
        }
        for name, group in groups.items()
    ]
    assert result.json["groups"] == sorted(expected, key=lambda document: str(document["group"]))
    assert (result.json["schema"], result.json["status"]) == ("kafka-groups/list/1", "complete")
    assert result.json["errors"] == []
    assert (result.err, result.code) == ("", 0)


def _json_cells(cells: tuple[str, str, str]) -> tuple[str, str, str]:
    of_type, state, protocol = cells
    return of_type, state, protocol.replace("-", "")


def test_ndjson_and_csv_have_the_values_of_json(cluster: Cluster, groups: dict[str, str]) -> None:
    document = run_command(cluster.bootstrap, "list", "--format", "json", *groups.values()).json
    lines = run_command(cluster.bootstrap, "list", "--format", "ndjson", *groups.values())
    table = run_command(cluster.bootstrap, "list", "--format", "csv", *groups.values())

    assert [json.loads(line) for line in lines.out.splitlines()] == document["groups"]
    header, *rows = csv.reader(io.StringIO(table.out))
    assert header == ["GROUP", "TYPE", "STATE", "PROTOCOL"]
    assert rows == [[group[key] for key in ("group", "type", "state", "protocol_type")] for group in document["groups"]]


def test_an_unknown_group_is_an_error_beside_the_listed_groups(cluster: Cluster, groups: dict[str, str]) -> None:
    result = run_command(cluster.bootstrap, "list", groups["simple"], "no-such-group")

    assert result.out == f"{groups['simple']}\n"
    assert result.err == "Error: group 'no-such-group': there is no such group (GROUP_ID_NOT_FOUND)\n"
    assert result.code == 3


def test_a_deleted_group_is_no_longer_listed(cluster: Cluster, topic: str) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 1)]) as group:
        before = run_command(cluster.bootstrap, "list")
        delete_group(cluster.bootstrap, group)
        after = run_command(cluster.bootstrap, "list")

    assert [group] in before.rows
    assert [group] not in after.rows


@pytest.mark.parametrize("option", ["--state", "--type"])
@pytest.mark.parametrize("text", ["bad, wrong", "  bad, Stable, Classic", "   ,   ,"])
def test_an_unknown_or_empty_name_is_a_usage_error_that_names_the_valid_ones(
    cluster: Cluster, option: str, text: str
) -> None:
    result = run_command(cluster.bootstrap, "list", option, text)

    valid = {"--state": "Stable, Empty, PreparingRebalance", "--type": "Classic, Consumer, Share, Streams"}
    assert valid[option] in result.err
    assert (result.out, len(result.notes), result.code) == ("", 1, 2)
