"""`kafka-groups lag`: rows, formats, failures and usage errors."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from kafka_groups.admin import IsolationLevel, OffsetSpec
from kafka_groups.model import TopicPartition
from tests.commands.lag_groups import NOTE, add_lag_groups, document_of
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, unreachable


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    add_lag_groups(cluster)


def test_groups_are_shown_in_total_the_worst_first() -> None:
    screen = dedent("""\
        GROUP   STATE   MEMBERS  LAG  PARTITIONS-BEHIND  UNCOMMITTED  LOST  MARGIN  MARGIN%  NOTE
        behind  Stable        2  100                  2            1     0      10     10.0  -
        lost    Empty         0   17                  1            0     7       0      0.0  data_loss
        beyond  Empty         0    0                  0            0     0       -        -  beyond_end
        """)
    assert run("lag") == (0, screen, NOTE)
    assert run("lag", "--all-groups") == (0, screen, NOTE)


@pytest.mark.parametrize(
    ("key", "screen"),
    [
        (
            "topic",
            """\
            GROUP   TOPIC  LAG  PARTITIONS-BEHIND  UNCOMMITTED  LOST  MARGIN  MARGIN%  NOTE
            behind  t      100                  2            1     0      10     10.0  -
            lost    u       17                  1            0     7       0      0.0  data_loss
            """,
        ),
        (
            "member",
            """\
            GROUP   CONSUMER-ID  HOST       CLIENT-ID  LAG  PARTITIONS-BEHIND  UNCOMMITTED  LOST  MARGIN  MARGIN%  NOTE
            behind  m1           /10.0.0.1  client     100                  2            0     0      10     10.0  -
            lost    -            -          -           17                  1            0     7       0      0.0  data_loss
            behind  m2           /10.0.0.1  other        -                  0            1     -       -        -  -
            """,  # noqa: E501 - the table as it is printed
        ),
        (
            "partition",
            """\
            GROUP   TOPIC  PARTITION  CURRENT-OFFSET  LOG-START-OFFSET  LOG-END-OFFSET  LAG  LOST  MARGIN  MARGIN%  CONSUMER-ID  HOST       CLIENT-ID  NOTE
            behind  t              0              10                 0             100   90     0      10     10.0  m1           /10.0.0.1  client     -
            lost    u              0               3                10              20   17     7       0      0.0  -            -          -          data_loss
            behind  t              1              90                 0             100   10     0      90     90.0  m1           /10.0.0.1  client     -
            behind  t              2               -                 0             100    -     -       -        -  m2           /10.0.0.1  other      -
            """,  # noqa: E501 - the table as it is printed
        ),
    ],
)
def test_by_changes_what_a_row_is(key: str, screen: str) -> None:
    assert run("lag", "behind", "lost", "--by", key) == (0, dedent(screen), "")


def test_top_shows_the_worst_rows_of_all_groups() -> None:
    lines = run("lag", "--by", "partition", "--top", "2").stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [["behind", "t", "0"], ["lost", "u", "0"]]
    document = document_of("--by", "partition", "--top", "2")
    assert [(group["group"], len(group["rows"])) for group in document["groups"]] == [("behind", 1), ("lost", 1)]
    # The totals are those of the whole group.
    assert document["groups"][0]["lag"] == 100


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_top_is_a_number_above_zero(number: str) -> None:
    outcome = run("lag", "--top", number)
    assert (outcome.exit_code, outcome.stdout) == (2, "")


def test_csv_has_an_empty_field_for_a_missing_value() -> None:
    screen = dedent("""\
        GROUP,CONSUMER-ID,HOST,CLIENT-ID,LAG,TIME-LAG,QUALITY,PARTITIONS-BEHIND,UNCOMMITTED,LOST,MARGIN,MARGIN%,NOTE
        behind,m1,/10.0.0.1,client,100,,,2,0,0,10,10.0,
        behind,m2,/10.0.0.1,other,,,,0,1,,,,
        """)
    assert run("lag", "behind", "--by", "member", "--format", "csv") == (0, screen, "")


def test_json_has_the_totals_the_rows_and_the_isolation() -> None:
    (group,) = document_of("lost", "--by", "topic")["groups"]
    assert {key: group[key] for key in ("group", "state", "members", "lag", "by", "isolation")} == {
        "group": "lost",
        "state": "Empty",
        "members": 0,
        "lag": 17,
        "by": "topic",
        "isolation": "uncommitted",
    }
    (row,) = group["rows"]
    assert (row["topic"], row["lag"], row["messages_lost"], row["note"]) == ("u", 17, 7, ["data_loss"])
    assert (group["verdict"], group["consume_rate"], group["lags"]) == (None, None, [])


def test_ndjson_is_a_row_a_line() -> None:
    lines = run("lag", "--by", "partition", "--format", "ndjson").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [(row["group"], row["partition"], row["lag"]) for row in rows] == [
        ("behind", 0, 90),
        ("lost", 0, 17),
        ("behind", 1, 10),
        ("beyond", 0, -5),
        ("behind", 2, None),
    ]


def test_selectors_and_filters_narrow_the_groups() -> None:
    assert [group["group"] for group in document_of("--state", "Empty", "--exclude", "b.*")["groups"]] == ["lost"]
    assert [group["group"] for group in document_of("--match", "be.*", "--type", "classic")["groups"]] == [
        "behind",
        "beyond",
    ]


def test_isolation_committed_measures_to_the_last_stable_offset(cluster: FakeCluster) -> None:
    outcome = run("lag", "behind", "--isolation", "committed", "--format", "json")
    levels = {
        call.kwargs.get("isolation_level")
        for call in cluster.admin.list_offsets.call_args_list
        if call.kwargs.get("spec") != OffsetSpec.earliest()
    }
    assert levels == {IsolationLevel.READ_COMMITTED}
    assert json.loads(outcome.stdout)["groups"][0]["isolation"] == "committed"
    assert outcome.stderr == "Lag is measured to the last stable offset (--isolation committed).\n"


def test_one_round_of_requests_reads_all_groups(cluster: FakeCluster) -> None:
    run("lag")
    calls = [call[0] for call in cluster.admin.method_calls if call[0] not in {"brokers", "deadline", "__exit__"}]
    assert calls == ["list_groups", "describe_with_offsets", "list_offsets", "list_partitions", "list_offsets"]


# Failures.


def test_an_absent_group_is_an_error_and_the_others_are_shown() -> None:
    outcome = run("lag", "lost", "nope")
    assert outcome.exit_code == 3
    assert outcome.stdout.splitlines()[1].startswith("lost ")
    assert outcome.stderr == "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)\n"


def test_absent_groups_alone_are_exit_code_1() -> None:
    outcome = run("lag", "nope", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"], document["groups"]) == (1, "failed", [])


def test_a_log_end_that_is_unknown_makes_the_total_incomplete(cluster: FakeCluster) -> None:
    key = TopicPartition("t", 0)
    cluster.leaderless[key] = failure("LEADER_NOT_AVAILABLE", code=5, topic="t", partition=0)
    outcome = run("lag", "behind")
    assert outcome.exit_code == 3
    assert outcome.stdout.splitlines()[1].split() == [
        *("behind", "Stable", "2", "10", "1", "1", "-", "-", "-", "incomplete")
    ]
    assert outcome.stderr == "Error: partition t-0: refused (LEADER_NOT_AVAILABLE)\n"


def test_a_cluster_that_cannot_be_reached_is_exit_code_1(cluster: FakeCluster) -> None:
    cluster.refuse(unreachable())
    outcome = run("lag", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (1, "failed")
    assert outcome.stderr == "Error: no broker responded at b1:9092; is it running?\n"


def test_nothing_that_matches_is_a_note() -> None:
    outcome = run("lag", "--match", "nope.*")
    assert (outcome.exit_code, outcome.stderr) == (0, "No group matches.\n")


def test_an_interrupted_lag_ends_its_document(cluster: FakeCluster) -> None:
    cluster.admin.list_offsets.side_effect = KeyboardInterrupt
    outcome = run("lag", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"], document["errors"][0]["name"]) == (130, "failed", "INTERRUPTED")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--watch", "0s"), "--watch needs an interval above 0, such as 5s"),
        (("--state", "nope"), "--state 'nope': unknown name 'nope'; valid names are "),
        (("--fail-if", "lag>"), "--fail-if: lag>→: expected a value"),
        (("--fail-if", "lag>many"), "--fail-if: lag>→many: lag is a number, and 'many' is none"),
        (("--fail-if", "topic==t"), "--fail-if: →topic==t: there is no field 'topic'; the fields are "),
        (("--fail-if", "state==Stabel"), "--fail-if: state==→Stabel: state is never 'Stabel'; write one of Stable, "),
        (("--fail-if", "verdict==STOP"), "--fail-if: verdict is known only to lag with --watch or --polls"),
        (("--fail-if", "consume_rate<1"), "--fail-if: consume_rate is known only to lag with --watch or --polls"),
        (("--samples", "3"), "--samples is only for --watch"),
        (("--watch", "5"), "--watch: "),
        (("--watch", "5s", "--by", "topic"), "rates and verdicts are those of groups: --by topic contradicts "),
        (("--polls", "f", "--by", "member"), "rates and verdicts are those of groups: --by member contradicts "),
        (("--watch", "5s", "--format", "json"), "--watch writes table or ndjson; --format json contradicts it"),
        (("--watch", "5s", "--metrics-file", "f"), "--metrics-file contradicts --watch; run lag by cron instead"),
        (("--format", "openmetrics", "--color", "always"), "--color always needs --format table; "),
    ],
)
def test_options_that_cannot_be_used_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    outcome = run("lag", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"Error: {message}")
    # A suggestion before it ends with a question mark.
    assert outcome.stderr.endswith(("; see kafka-groups lag --help\n", "? See kafka-groups lag --help\n"))
