"""`kafka-groups list`: its output formats, its filters, its ids for `xargs`."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from kafka_groups.model import GroupListing
from tests.fakes.command_line import run
from tests.fakes.fake_admin import NAMED, NAMED_TEXT, FakeCluster, unreachable


@pytest.fixture(autouse=True)
def one_group_of_every_kind(cluster: FakeCluster) -> None:
    """Add six groups in no order."""
    cluster.add("share", state="Stable", kind="Share", protocol_type="share")
    cluster.add("connect-sink", state="Stable", protocol_type="connect")
    cluster.add("orders", state="Stable", kind="Consumer")
    cluster.add("billing", state="Empty")
    cluster.add("simple", state="Empty", protocol_type="")
    cluster.add("flow", state="NotReady", kind="Streams", protocol_type="streams")


def test_a_piped_list_is_sorted_ids_of_groups_of_every_kind() -> None:
    assert run("list") == (0, "billing\nconnect-sink\nflow\norders\nshare\nsimple\n", "")


def test_options_without_values_add_columns_in_one_order() -> None:
    screen = dedent("""\
        GROUP         TYPE      STATE     PROTOCOL
        billing       Classic   Empty     consumer
        connect-sink  Classic   Stable    connect
        flow          Streams   NotReady  streams
        orders        Consumer  Stable    consumer
        share         Share     Stable    share
        simple        Classic   Empty     -
        """)
    assert run("list", "--verbose", "--state", "--type") == (0, screen, "")
    assert run("list", "--type", "--state", "--verbose") == (0, screen, "")


@pytest.mark.parametrize("spelling", ["Stable", "stable", "STABLE", " stable ,", "Stable,stable"])
def test_states_are_requested_as_kafka_spells_them(cluster: FakeCluster, spelling: str) -> None:
    run("list", "--state", spelling)
    (call,) = cluster.admin.list_groups.call_args_list
    assert (call.kwargs["states"], call.kwargs["types"]) == (("Stable",), None)


def test_a_filter_adds_its_column() -> None:
    screen = dedent("""\
        GROUP    STATE
        billing  Empty
        flow     NotReady
        simple   Empty
        """)
    assert run("list", "--state", "Empty, notready,") == (0, screen, "")


def test_a_type_and_a_state_are_both_required() -> None:
    screen = dedent("""\
        GROUP   TYPE      STATE
        orders  Consumer  Stable
        """)
    assert run("list", "--type", "consumer", "--state", "Stable") == (0, screen, "")


def test_a_filter_without_matches_prints_the_header_and_a_note() -> None:
    assert run("list", "--state", "PreparingRebalance") == (0, "GROUP  STATE\n", "No group matches.\n")


def test_a_cluster_without_groups_is_a_note(cluster: FakeCluster) -> None:
    cluster.listings.clear()
    assert run("list") == (0, "", "No groups.\n")


STATES = "Stable, Empty, PreparingRebalance, CompletingRebalance, Assigning, Reconciling, NotReady, Dead"


@pytest.mark.parametrize("text", ["", ",", "  , ,"])
def test_an_empty_list_of_states_is_a_usage_error_that_names_the_valid_ones(text: str) -> None:
    message = f"Error: --state {text!r}: the list is empty; valid names are {STATES}; see kafka-groups list --help\n"
    assert run("list", "--state", text) == (2, "", message)


def test_an_unknown_state_is_a_usage_error_that_explains_the_position_of_ids() -> None:
    hint = "(put a group id before a bare --state, or after --); see kafka-groups list --help"
    message = f"Error: --state 'bad, Stable, wrong': unknown name 'bad', 'wrong'; valid names are {STATES} {hint}\n"
    assert run("list", "--state", "bad, Stable, wrong") == (2, "", message)


def test_an_unknown_type_is_a_usage_error_that_explains_the_position_of_ids() -> None:
    hint = "(put a group id before a bare --type, or after --); see kafka-groups list --help"
    message = (
        f"Error: --type 'orders': unknown name 'orders'; valid names are Classic, Consumer, Share, Streams {hint}\n"
    )
    assert run("list", "--type", "orders") == (2, "", message)


@pytest.mark.parametrize("arguments", [("orders", "--state"), ("--state", "--", "orders"), ("--state", "-g", "orders")])
def test_ids_are_given_before_a_bare_state_or_after_two_dashes(arguments: tuple[str, ...]) -> None:
    assert run("list", *arguments) == (0, "GROUP   STATE\norders  Stable\n", "")


def test_quiet_prints_ids_without_columns() -> None:
    assert run("list", "-q", "--type", "--state", "Empty") == (0, "billing\nsimple\n", "")


def test_ids_end_with_nul_if_requested() -> None:
    assert run("list", "-q", "-0", "--state", "Empty") == (0, "billing\0simple\0", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-0",), "-0 needs -q: give both or none"),
        (("-q", "--format", "json"), "-q prints bare ids and contradicts --format json; remove one of them"),
        (("-q", "--format", "csv"), "-q prints bare ids and contradicts --format csv; remove one of them"),
        (("-q", "--verbose"), "-q prints bare ids and contradicts --verbose; remove one of them"),
        (("-q", "--color", "always"), "-q prints bare ids and contradicts --color always; remove one of them"),
    ],
)
def test_contradicting_output_options_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    assert run("list", *arguments) == (2, "", f"Error: {message}; see kafka-groups list --help\n")


def test_csv_always_has_all_columns_and_an_empty_field_for_a_missing_value() -> None:
    screen = dedent("""\
        GROUP,TYPE,STATE,PROTOCOL
        orders,Consumer,Stable,consumer
        simple,Classic,Empty,
        """)
    assert run("list", "orders", "simple", "--format", "csv") == (0, screen, "")


def test_json_always_has_all_keys() -> None:
    outcome = run("list", "orders", "--format", "json")
    assert json.loads(outcome.stdout) == {
        "schema": "kafka-groups/list/1",
        "status": "complete",
        "groups": [{**NAMED, "group": "orders", "type": "Consumer", "state": "Stable", "protocol_type": "consumer"}],
        "notes": [],
        "errors": [],
    }
    assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_json_of_no_groups_is_a_complete_document(cluster: FakeCluster) -> None:
    cluster.listings.clear()
    outcome = run("list", "--format", "json")
    assert json.loads(outcome.stdout) == {
        "schema": "kafka-groups/list/1",
        "groups": [],
        "notes": [{"kind": "no_groups", "cluster": "fake", "group": None, "text": "No groups."}],
        "errors": [],
        "status": "complete",
    }
    assert (outcome.exit_code, outcome.stderr) == (0, "No groups.\n")


def test_ndjson_is_a_group_a_line() -> None:
    screen = (
        f'{NAMED_TEXT}"group": "flow", "type": "Streams", "state": "NotReady", "protocol_type": "streams"}}\n'
        f'{NAMED_TEXT}"group": "orders", "type": "Consumer", "state": "Stable", "protocol_type": "consumer"}}\n'
    )
    assert run("list", "flow", "orders", "--format", "ndjson") == (0, screen, "")


def test_kafka_format_pads_columns_as_kafkas_tool() -> None:
    screen = (
        "GROUP                     TYPE                 STATE               \n"
        "connect-sink              Classic              Stable              \n"
        "orders                    Consumer             Stable              \n"
    )
    arguments = ("list", "orders", "connect-sink", "--state", "--type", "--format", "kafka")
    assert run(*arguments) == (0, screen, "")


def test_kafka_format_pads_the_protocol_as_the_other_columns() -> None:
    lines = [f"{'GROUP':25} {'PROTOCOL':20}", f"{'orders':25} {'consumer':20}"]
    assert run("list", "orders", "--verbose", "--format", "kafka").stdout.splitlines() == lines


def test_kafka_format_without_columns_is_bare_ids() -> None:
    assert run("list", "--match", ".*s", "--format", "kafka") == (0, "orders\n", "")


def test_a_type_and_a_state_that_old_brokers_do_not_return_are_missing_values(cluster: FakeCluster) -> None:
    cluster.listings = {
        "old": GroupListing(group="old", type=None, state=None, protocol_type="consumer", coordinator=1)
    }
    assert run("list", "--state", "--type") == (0, "GROUP  TYPE  STATE\nold    -     -\n", "")
    assert run("list", "--format", "csv") == (0, "GROUP,TYPE,STATE,PROTOCOL\nold,,,consumer\n", "")
    line = NAMED_TEXT + '"group": "old", "type": null, "state": null, "protocol_type": "consumer"}\n'
    assert run("list", "--format", "ndjson") == (0, line, "")


def test_a_named_group_of_another_state_is_no_error() -> None:
    assert run("list", "billing", "-q", "--state", "Stable") == (0, "", "No group matches.\n")


def test_a_named_group_that_no_broker_lists_is_an_error_also_under_a_filter() -> None:
    outcome = run("list", "orders", "nope", "-q", "--state", "Stable")
    assert outcome == (3, "orders\n", "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)\n")


def test_a_list_whose_groups_are_all_excluded_is_a_note() -> None:
    assert run("list", "--exclude", ".*") == (0, "", "No group matches.\n")


@pytest.mark.parametrize(
    "options",
    [("--state", "Stable", "--state", "notready"), ("--state", "NotReady", "--state=stable", "--state")],
    ids=" ".join,
)
def test_groups_of_any_named_state_are_listed(options: tuple[str, ...]) -> None:
    screen = dedent("""\
        GROUP         STATE
        connect-sink  Stable
        flow          NotReady
        orders        Stable
        share         Stable
        """)
    assert run("list", *options) == (0, screen, "")


def test_groups_of_any_named_type_are_listed() -> None:
    assert run("list", "-q", "--type", "share", "--type", "Streams") == (0, "flow\nshare\n", "")


def test_an_unknown_state_is_an_error_although_another_option_names_a_valid_one() -> None:
    outcome = run("list", "--state", "Stable", "--state", "bogus")
    assert (outcome.exit_code, "--state 'bogus': unknown name 'bogus'" in outcome.stderr) == (2, True)


def test_csv_of_an_unreachable_cluster_has_no_header(cluster: FakeCluster) -> None:
    cluster.refuse(unreachable())
    outcome = run("list", "--format", "csv")
    assert (outcome.exit_code, outcome.stdout) == (1, "")


def test_output_to_a_pipe_has_colours_only_if_they_are_forced() -> None:
    assert "\x1b[32mStable" in run("list", "--state", "--color", "always").stdout
    assert "\x1b" not in run("list", "--state").stdout
