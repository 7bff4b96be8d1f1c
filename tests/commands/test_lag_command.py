"""`kafka-groups lag`: rows, formats, conditions, exit codes, and the files that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kafka_groups.admin import IsolationLevel, OffsetSpec
from kafka_groups.errors import AuthenticationFailedError
from kafka_groups.model import TopicPartition
from tests.fakes.fake_admin import FakeCluster, Outcome, failure, member, run, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
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


NOTE = "1 group of another kind is skipped (connect).\n"


def test_groups_are_shown_in_total_the_worst_first() -> None:
    screen = dedent("""\
        GROUP   STATE   MEMBERS  LAG  PARTITIONS-BEHIND  UNCOMMITTED  LOST  MARGIN  MARGIN%  NOTE
        behind  Stable        2  100                  2            1     0      10     10.0  -
        lost    Empty         0   17                  1            0     7       0      0.0  data_loss
        beyond  Empty         0    0                  0            0     0      15    100.0  beyond_end
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
            """,  # noqa: E501
        ),
        (
            "partition",
            """\
            GROUP   TOPIC  PARTITION  CURRENT-OFFSET  LOG-START-OFFSET  LOG-END-OFFSET  LAG  LOST  MARGIN  MARGIN%  CONSUMER-ID  HOST       CLIENT-ID  NOTE
            behind  t              0              10                 0             100   90     0      10     10.0  m1           /10.0.0.1  client     -
            lost    u              0               3                10              20   17     7       0      0.0  -            -          -          data_loss
            behind  t              1              90                 0             100   10     0      90     90.0  m1           /10.0.0.1  client     -
            behind  t              2               -                 0             100    -     -       -        -  m2           /10.0.0.1  other      -
            """,  # noqa: E501
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
    assert (row["topic"], row["lag"], row["messages_lost"], row["note"]) == ("u", 17, 7, "data_loss")
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
    assert calls == ["list_groups", "describe_with_offsets", "list_offsets", "list_offsets"]


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
        *("behind", "Stable", "2", "10", "1", "1", "0", "90", "90.0", "incomplete")
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


# --fail-if.


@pytest.mark.parametrize(
    ("condition", "exit_code"),
    [
        ("lag>99", 4),
        ("lag>100", 0),
        ("lag > 50 and state == stable", 4),
        ("lag > 50 and state==Empty", 0),
        ("note==data_loss or lag>1000", 4),
        ("messages_lost>0", 4),
        ("retention_margin_percent<1", 4),
        ("isolation==committed", 0),
    ],
)
def test_a_condition_that_holds_is_exit_code_4(condition: str, exit_code: int) -> None:
    outcome = run("lag", "--fail-if", condition)
    assert outcome.exit_code == exit_code
    # The rows are there in both cases.
    assert len(outcome.stdout.splitlines()) == 4
    assert ("Error: the condition of --fail-if holds for " in outcome.stderr) == (exit_code == 4)


def test_the_error_names_the_groups_for_which_it_holds(cluster: FakeCluster) -> None:
    for number in range(4):
        cluster.add(f"g{number}", commits={("t", 0): 0})
    message = "Error: the condition of --fail-if holds for 'behind', 'g0', 'g1' and 2 more\n"
    assert run("lag", "--fail-if", "lag>=100").stderr == NOTE + message


def test_a_condition_is_judged_for_rows_that_top_does_not_show() -> None:
    outcome = run("lag", "--top", "1", "--fail-if", "group==beyond")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (4, 2)


def test_a_condition_is_judged_for_the_rows_of_by() -> None:
    assert run("lag", "--by", "partition", "--fail-if", "lag>90").exit_code == 0
    assert run("lag", "--by", "partition", "--fail-if", "partition==0 and topic==t and lag>=90").exit_code == 4


def test_a_condition_that_holds_beats_a_failed_group() -> None:
    outcome = run("lag", "behind", "nope", "--fail-if", "lag>0")
    assert outcome.exit_code == 4
    assert outcome.stderr.splitlines() == [
        "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)",
        "Error: the condition of --fail-if holds for 'behind'",
    ]
    assert run("lag", "behind", "nope", "--fail-if", "lag>1000").exit_code == 3


@pytest.mark.parametrize("arguments", [("--match", "nope.*"), ("nope",)])
def test_a_condition_without_a_row_to_judge_is_exit_code_1(arguments: tuple[str, ...]) -> None:
    assert run("lag", *arguments, "--fail-if", "lag>0").exit_code == 1


def test_a_comparison_with_an_unknown_value_is_never_true(cluster: FakeCluster) -> None:
    cluster.add("fresh", state="Stable", members=[member("m", {"t": (0,)})])
    assert run("lag", "fresh", "--fail-if", "lag>=0 or lag<0 or lag!=7").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fail-if", "lag>"), "--fail-if: lag>→: expected a value"),
        (("--fail-if", "lag>many"), "--fail-if: lag>→many: lag is a number, and 'many' is none"),
        (("--fail-if", "topic==t"), "--fail-if: →topic==t: there is no field 'topic'; the fields are "),
        (("--fail-if", "verdict==STOP"), "--fail-if: verdict is known only to lag with --watch or --history"),
        (("--fail-if", "consume_rate<1"), "--fail-if: consume_rate is known only to lag with --watch or --history"),
        (("--samples", "3"), "--samples is only for --watch"),
        (("--watch", "5"), "--watch: "),
        (("--watch", "5s", "--by", "topic"), "rates and verdicts are those of groups: --by topic contradicts "),
        (("--history", "f", "--by", "member"), "rates and verdicts are those of groups: --by member contradicts "),
        (("--watch", "5s", "--format", "json"), "--watch writes table or ndjson; --format json contradicts it"),
        (("--watch", "5s", "--metrics-file", "f"), "--metrics-file contradicts --watch; run lag by cron instead"),
        (("--format", "openmetrics", "--color", "always"), "--color always needs --format table; "),
    ],
)
def test_options_that_cannot_be_used_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    outcome = run("lag", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"Error: {message}")
    assert outcome.stderr.endswith("; see kafka-groups lag --help\n")


# --history.


class History(NamedTuple):
    """The file of a history, and the function that returns the time of a poll."""

    file: Path
    time_ns: Any


def poll(cluster: FakeCluster, history: History, at_s: int, committed: int, end: int, *arguments: str) -> Outcome:
    """Run `lag --history` for a group at a time."""
    cluster.add("moving", state="Stable", members=[member("m", {"v": (0,)})], commits={("v", 0): committed})
    cluster.end("v", end, starts=(0,))
    history.time_ns.return_value = (1_700_000_000 + at_s) * 1_000_000_000
    return run("lag", "moving", "--history", str(history.file), *arguments)


@pytest.fixture
def history(cluster: FakeCluster, tmp_path: Path, mocker: MockerFixture) -> History:
    """Return a history whose file does not exist yet."""
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    return History(tmp_path / "history", mocker.patch("kafka_groups.commands.lag.time.time_ns"))


def test_the_second_run_with_a_history_shows_rates_and_a_verdict(cluster: FakeCluster, history: History) -> None:
    first = poll(cluster, history, 0, 0, 1000)
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.splitlines()[1].split() == [
        *("moving", "Stable", "1", "1000", "1", "-", "-", "-", "-", "█", "UNKNOWN", "incomplete", "0", "-")
    ]
    second = poll(cluster, history, 10, 100, 1050)
    assert second.stdout == dedent("""\
        GROUP   STATE   MEMBERS  LAG  PARTITIONS-BEHIND  CONSUME/S  PRODUCE/S  TREND  CATCH-UP  LAGS  VERDICT  RULE         UNCOMMITTED  NOTE
        moving  Stable        1  950                  1       10.0        5.0    -50     3m10s  ██    UNKNOWN  lag_unknown            0  -
        """)  # noqa: E501


def test_json_has_rates_verdict_and_retention(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    (group,) = json.loads(poll(cluster, history, 10, 90, 1000, "--format", "json").stdout)["groups"]
    keys = ("consume_rate", "produce_rate", "trend", "catch_up_ms", "lags", "verdict", "rule", "retention_margin")
    assert [group[key] for key in keys] == [-1.0, 0.0, 10, None, [900, 910], "REWIND", "rewound", 90]


def test_a_condition_may_compare_verdicts_and_rates(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    assert poll(cluster, history, 10, 90, 1000, "--fail-if", "verdict==REWIND and consume_rate<0").exit_code == 4


def test_a_group_whose_commits_were_deleted_has_no_verdict_any_longer(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    cluster.add("moving", commits={("u", 0): 20})
    history.time_ns.return_value += 10**10
    (group,) = json.loads(run("lag", "moving", "--history", str(history.file), "--format", "json").stdout)["groups"]
    assert (group["verdict"], group["lags"][-1]) == ("OK", 0)


def test_a_run_of_some_groups_keeps_the_history_of_the_others(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    for arguments in (("lost",), ("--state", "Empty"), ("--exclude", "mov.*"), ("--type", "Consumer")):
        history.time_ns.return_value += 10**9
        run("lag", *arguments, "--history", str(history.file))
        assert '"moving"' in history.file.read_text()
    del cluster.listings["moving"]
    run("lag", "--history", str(history.file))
    assert '"moving"' not in history.file.read_text()
    assert '"lost"' in history.file.read_text()


@pytest.mark.parametrize("cause", [unreachable(), KeyboardInterrupt()])
def test_a_run_that_fails_keeps_the_history(cluster: FakeCluster, history: History, cause: BaseException) -> None:
    poll(cluster, history, 0, 100, 1000)
    before = history.file.read_text()
    cluster.refuse(cause)
    assert run("lag", "--history", str(history.file)).exit_code in {1, 130}
    assert history.file.read_text() == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe", "is not a history of lag: it is not UTF-8; use another file"),
        (b"GROUP,LAG\n", "is not a history of lag, or it is damaged; use another file, or remove it"),
        (b"[1, 2]\n", "is not a history of lag, or it is damaged; use another file, or remove it"),
        (
            b'{"schema": "kafka-groups/lag-history/2", "cluster_id": "cluster-1", "partitions": 0, "lags": {}}\n',
            "has the schema kafka-groups/lag-history/2, not kafka-groups/lag-history/1; use another file",
        ),
        (
            b'{"schema": "kafka-groups/lag-history/1", "cluster_id": "other", "partitions": 0, "lags": {}}\n',
            "is the history of cluster other, and this is cluster-1; use another file",
        ),
    ],
)
def test_a_foreign_or_damaged_history_is_refused_and_not_changed(
    history: History, content: bytes, problem: str
) -> None:
    history.file.write_bytes(content)
    assert run("lag", "--history", str(history.file)) == (2, "", f"Error: {history.file} {problem}\n")
    assert history.file.read_bytes() == content


def test_a_history_that_was_cut_off_is_refused(cluster: FakeCluster, history: History) -> None:
    poll(cluster, history, 0, 100, 1000)
    lines = history.file.read_text().splitlines(keepends=True)
    history.file.write_text(lines[0])
    assert run("lag", "--history", str(history.file)).exit_code == 2


def test_a_history_that_cannot_be_written_is_an_error_behind_the_output(cluster: FakeCluster, history: History) -> None:
    outcome = poll(cluster, history._replace(file=history.file / "missing"), 0, 100, 1000, "--format", "json")
    assert json.loads(outcome.stdout)["status"] == "complete"
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("Error: No such file or directory: ")


# Metrics.


def test_openmetrics_has_a_sample_of_each_group(mocker: MockerFixture) -> None:
    mocker.patch("kafka_groups.commands.lag.time.time", return_value=1_700_000_000.25)
    outcome = run("lag", "--format", "openmetrics")
    assert (outcome.exit_code, outcome.stderr) == (0, NOTE)
    lines = outcome.stdout.splitlines()
    assert 'kafka_groups_lag_by_group_messages{group="behind"} 100' in lines
    assert 'kafka_groups_lag_by_group_lost_messages{group="lost"} 7' in lines
    assert 'kafka_groups_lag_by_group_state{group="lost",state="Empty"} 1' in lines
    assert lines[-4:] == [
        "# TYPE kafka_groups_lag_read_timestamp_seconds gauge",
        "# HELP kafka_groups_lag_read_timestamp_seconds When the values were read, in seconds since 1970.",
        "kafka_groups_lag_read_timestamp_seconds 1700000000.250",
        "# EOF",
    ]


def test_a_metrics_file_is_written_beside_the_output(tmp_path: Path) -> None:
    file = tmp_path / "lag.prom"
    file.write_text("old")
    outcome = run("lag", "lost", "nope", "--by", "partition", "--metrics-file", str(file), "--format", "csv")
    assert outcome.exit_code == 3
    assert outcome.stdout.splitlines()[1].startswith("lost,u,0,3,")
    text = file.read_text()
    assert 'kafka_groups_lag_by_partition_messages{group="lost",topic="u",partition="0"} 17' in text
    assert "kafka_groups_lag_failures 1\n" in text
    assert [path.name for path in tmp_path.iterdir()] == ["lag.prom"]


def test_the_metrics_of_a_cluster_that_cannot_be_reached_are_no_old_values(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    file = tmp_path / "lag.prom"
    file.write_text("old")
    cluster.refuse(AuthenticationFailedError("refused"))
    assert run("lag", "--metrics-file", str(file)).exit_code == 1
    text = file.read_text()
    assert "kafka_groups_lag_failures 1\n" in text
    assert "group=" not in text


def test_a_metrics_file_that_cannot_be_written_is_an_error_behind_the_output(tmp_path: Path) -> None:
    outcome = run("lag", "--metrics-file", str(tmp_path / "missing" / "lag.prom"), "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (1, "complete")
    assert "No such file or directory" in outcome.stderr
