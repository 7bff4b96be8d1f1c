"""`kafka-groups wait`: polls until a condition holds, in every format and with every end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.errors import AuthenticationFailedError
from kafka_groups.model import TopicPartition
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


class Clock:
    """A clock that only pauses move; before each poll but the first one, `before` may change the cluster."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []
        self.before: dict[int, Callable[[], Any]] = {}

    def pause(self, seconds: float) -> None:
        """Move the clock to the next poll."""
        assert len(self.pauses) < 1000
        self.pauses.append(seconds)
        self.now += seconds
        if change := self.before.get(len(self.pauses) + 1):
            change()


@pytest.fixture(autouse=True)
def clock(mocker: MockerFixture) -> Clock:
    """Return the clock of the command."""
    clock = Clock()
    mocker.patch("kafka_groups.commands.wait.pause", side_effect=clock.pause)
    mocker.patch("kafka_groups.commands.wait.time.monotonic", side_effect=lambda: clock.now)
    return clock


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add a group that is behind, and one that is not."""
    cluster.add("behind", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): 10})
    cluster.add("done", commits={("t", 1): 100})
    cluster.end("t", 100, 100, starts=(0, 0))


def catch_up(cluster: FakeCluster) -> Callable[[], None]:
    """Return a function that lets the group catch up."""
    return lambda: cluster.add("behind", commits={("t", 0): 100})


HEADER = "GROUP   STATE   MEMBERS  LAG  PARTITIONS-BEHIND  UNCOMMITTED  LOST  MARGIN  MARGIN%  NOTE\n"


def test_a_condition_that_holds_ends_the_wait_at_once(clock: Clock) -> None:
    screen = (
        "GROUP  STATE  MEMBERS  LAG  PARTITIONS-BEHIND  UNCOMMITTED  LOST  MARGIN  MARGIN%  NOTE\n"
        "done   Empty        0    0                  0            1     0       -        -  -\n"
    )
    assert run("wait", "done", "--until", "lag<=0") == (0, screen, "")
    assert clock.pauses == []


def test_it_polls_until_the_condition_holds(clock: Clock, cluster: FakeCluster) -> None:
    clock.before[4] = catch_up(cluster)
    outcome = run("wait", "behind", "--until", "lag<=0")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.stdout.splitlines()[1].split()[:4] == ["behind", "Empty", "0", "0"]
    assert clock.pauses == [1.0, 1.5, 2.25]


def test_named_groups_cost_the_batched_requests_of_each_poll_and_no_listing(clock: Clock, cluster: FakeCluster) -> None:
    clock.before[2] = catch_up(cluster)
    run("wait", "behind", "--until", "lag<=0")
    calls = [call[0] for call in cluster.admin.method_calls if call[0] not in {"brokers", "deadline", "__exit__"}]
    assert calls == ["describe_with_offsets", "list_offsets", "list_partitions", "list_offsets", "list_offsets"] * 2


def test_a_condition_that_does_not_hold_in_time_is_exit_code_4(clock: Clock) -> None:
    screen = (
        f"{HEADER}behind  Stable        1   90                  1            1     0      10     10.0  -\n"
        "done    Empty         0    0                  0            1     0       -        -  -\n"
    )
    message = "Error: the condition of --until does not hold for 'behind'\n"
    assert run("wait", "--all-groups", "--until", "lag<=0", "--for", "10s") == (4, screen, message)
    assert sum(clock.pauses) == 10


def test_the_error_names_three_groups(cluster: FakeCluster) -> None:
    for number in range(4):
        cluster.add(f"g{number}", commits={("t", 0): 0})
    outcome = run("wait", "--match", "g.*", "--until", "lag<=0", "--for", "1s")
    assert outcome.stderr == "Error: the condition of --until does not hold for 'g0', 'g1', 'g2' and 1 more\n"


@pytest.mark.parametrize("limit", ["1s", "500ms", "PT1S"])
def test_for_is_a_duration(clock: Clock, limit: str) -> None:
    assert run("wait", "behind", "--until", "lag<=0", "--for", limit).exit_code == 4
    assert sum(clock.pauses) <= 1


def test_json_has_the_last_lag_of_every_group(clock: Clock, cluster: FakeCluster) -> None:
    clock.before[2] = catch_up(cluster)
    outcome = run("wait", "--all-groups", "--until", "lag<=0", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (document["schema"], document["status"]) == ("kafka-groups/wait/1", "complete")
    assert [(group["group"], group["lag"], group["rows"]) for group in document["groups"]] == [
        ("behind", 0, []),
        ("done", 0, []),
    ]


def test_ndjson_and_csv_have_a_row_for_each_group() -> None:
    row = json.loads(run("wait", "done", "--until", "lag<=0", "--format", "ndjson").stdout)
    assert (row["group"], row["lag"], row["isolation"]) == ("done", 0, "uncommitted")
    assert run("wait", "done", "--until", "lag<=0", "--format", "csv").stdout.splitlines() == [
        "GROUP,STATE,MEMBERS,LAG,TIME-LAG,QUALITY,PARTITIONS-BEHIND,UNCOMMITTED,LOST,MARGIN,MARGIN%,NOTE",
        "done,Empty,0,0,,,0,1,0,,,",
    ]


def test_an_absent_group_does_not_fulfil_the_condition(clock: Clock) -> None:
    outcome = run("wait", "done", "nope", "--until", "lag<=0", "--for", "5s")
    assert outcome.exit_code == 4
    assert outcome.stderr.splitlines() == [
        "Waiting for group 'nope': there is no such group (GROUP_ID_NOT_FOUND)",
        "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)",
        "Error: the condition of --until does not hold for 'nope'",
    ]
    assert sum(clock.pauses) == 5


def test_groups_that_a_pattern_selects_are_no_notes_while_they_cannot_be_read(cluster: FakeCluster) -> None:
    cluster.unfetchable["done"] = failure(group="done")
    outcome = run("wait", "--match", ".*", "--until", "lag<=100", "--for", "1s")
    assert "Waiting for" not in outcome.stderr
    assert "Waiting for group 'done'" in run("wait", "done", "--until", "lag<=100", "--for", "1s").stderr


def test_a_poll_takes_no_longer_than_the_wait_may(cluster: FakeCluster) -> None:
    cluster.admin.deadline.reset_mock()
    run("wait", "behind", "--until", "lag<=0", "--for", "5s")
    # The first deadline is that of the command; the last poll begins when the time is over.
    assert [call.args for call in cluster.admin.deadline.call_args_list] == [(), (5.0,), (4.0,), (2.5,), (1.0,), (1.0,)]


def test_a_group_that_appears_fulfils_the_condition(clock: Clock, cluster: FakeCluster) -> None:
    clock.before[3] = lambda: cluster.add("new", commits={("t", 1): 100})
    assert run("wait", "new", "--until", "lag<=0", "--for", "1m").exit_code == 0


@pytest.mark.parametrize("excluding", [("--exclude", "beh.*"), ("--state", "Empty")])
def test_a_named_group_that_is_excluded_need_not_fulfil_the_condition(excluding: tuple[str, str]) -> None:
    assert run("wait", "done", "behind", *excluding, "--until", "lag<=0", "--for", "1s").exit_code == 0


def test_nothing_that_matches_is_exit_code_1(clock: Clock) -> None:
    outcome = run("wait", "--match", "nope.*", "--until", "lag<=0")
    note = "No group matches.\nThe condition of --until was not checked.\n"
    assert (outcome.exit_code, outcome.stderr, clock.pauses) == (1, note, [])
    assert json.loads(run("wait", "--match", "nope.*", "--until", "lag<=0", "--format", "json").stdout)["status"] == (
        "failed"
    )


def test_an_unknown_log_end_does_not_fulfil_a_condition_on_the_lag(clock: Clock, cluster: FakeCluster) -> None:
    cluster.add("two", commits={("t", 0): 100, ("t", 1): 100})
    cluster.leaderless[TopicPartition("t", 0)] = failure("LEADER_NOT_AVAILABLE", code=5, topic="t", partition=0)
    outcome = run("wait", "two", "--until", "lag<=0", "--for", "1s")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1].split()[-1]) == (4, "incomplete")
    # The state is known; the partition is an error all the same.
    assert run("wait", "two", "--until", "state==Empty").exit_code == 3
    clock.before[len(clock.pauses) + 2] = cluster.leaderless.clear
    assert run("wait", "two", "--until", "lag<=0", "--for", "1m").exit_code == 0


def test_a_commit_above_the_log_end_is_named_at_the_end(cluster: FakeCluster) -> None:
    cluster.add("recreated", commits={("t", 0): 5000, ("t", 1): 100})
    outcome = run("wait", "recreated", "--until", "lag<=0", "--for", "1s")
    message = (
        "Error: the condition of --until does not hold for 'recreated': a commit of 'recreated' is above the log end "
        "(beyond_end), so what was read is unknown; reset it, or add 'or note==beyond_end' to the condition\n"
    )
    assert (outcome.exit_code, outcome.stderr) == (4, message)
    assert run("wait", "recreated", "--until", "lag<=0 or note==beyond_end", "--for", "1s").exit_code == 0


def test_an_emptied_log_has_nothing_left_to_wait_for(cluster: FakeCluster) -> None:
    cluster.end("emptied", 100, starts=(100,))
    cluster.add("late", commits={("emptied", 0): 10})
    assert run("wait", "late", "--until", "lag<=0", "--for", "1s").exit_code == 4
    assert run("wait", "late", "--until", "readable_lag<=0", "--for", "1s").exit_code == 0


def test_a_broker_that_does_not_list_its_groups_does_not_end_the_wait(clock: Clock, cluster: FakeCluster) -> None:
    cluster.unlistable[2] = failure("TIMEOUT", code=None, broker=2)
    outcome = run("wait", "--match", "done", "--until", "lag<=0", "--for", "1s")
    assert outcome.exit_code == 4
    assert outcome.stderr.splitlines() == [
        "Error: broker 2: refused (TIMEOUT)",
        "Error: the condition of --until may not hold: a broker did not list its groups",
    ]
    clock.before[len(clock.pauses) + 2] = cluster.unlistable.clear
    assert run("wait", "--match", "done", "--until", "lag<=0", "--for", "1m").exit_code == 0


def test_a_cluster_that_restarts_does_not_end_the_wait(clock: Clock, cluster: FakeCluster) -> None:
    read = cluster.admin.describe_with_offsets
    recover = read.side_effect

    def restart() -> None:
        read.side_effect = unreachable()

    def return_with_all_read() -> None:
        read.side_effect = recover
        catch_up(cluster)()

    clock.before = {2: restart, 4: return_with_all_read}
    assert run("wait", "behind", "--until", "lag<=0", "--for", "1m").exit_code == 0


def test_a_cluster_that_stays_away_is_reported_with_the_last_lag(clock: Clock, cluster: FakeCluster) -> None:
    clock.before[2] = lambda: cluster.refuse(unreachable())
    outcome = run("wait", "behind", "--until", "lag<=0", "--for", "5s")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1].split()[0]) == (4, "behind")
    assert outcome.stderr.splitlines() == [
        "Error: no broker responded at b1:9092; is it running? (CONNECTION_FAILED)",
        "Error: the condition of --until does not hold for 'behind'",
    ]


def test_a_first_poll_that_fails_ends_the_wait(clock: Clock, cluster: FakeCluster) -> None:
    cluster.refuse(unreachable())
    outcome = run("wait", "behind", "--until", "lag<=0", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"], clock.pauses) == (1, "failed", [])


def test_refused_credentials_end_the_wait(clock: Clock, cluster: FakeCluster) -> None:
    clock.before[2] = lambda: cluster.refuse(AuthenticationFailedError("the password has expired"))
    outcome = run("wait", "behind", "--until", "lag<=0")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (1, "", "Error: the password has expired\n")


def test_an_interrupt_ends_the_wait_with_a_complete_document(clock: Clock, cluster: FakeCluster) -> None:
    clock.before[3] = lambda: cluster.refuse(KeyboardInterrupt())
    outcome = run("wait", "behind", "--until", "lag<=0", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["errors"][0]["name"], document["groups"]) == (130, "INTERRUPTED", [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--until", "lag<=0"), "no group is selected; name groups, or use --match REGEX or --all-groups"),
        (("behind",), "Missing option '--until'"),
        (("behind", "--until", "lag"), "--until: lag→: expected one of < <= > >= == !="),
        (("behind", "--until", "verdict==OK"), "--until: verdict is known only to lag with --watch or --polls"),
        (("behind", "--until", "lag<=0", "--for", "5"), "--for: "),
        (("behind", "--until", "lag<=0", "--for", "soon"), "--for: "),
    ],
)
def test_options_that_cannot_be_used_are_usage_errors(arguments: tuple[str, ...], message: str) -> None:
    outcome = run("wait", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"Error: {message}")


def test_each_poll_has_a_deadline_of_its_own(clock: Clock, cluster: FakeCluster) -> None:
    clock.before[3] = catch_up(cluster)
    run("wait", "behind", "--until", "lag<=0")
    deadlines = {call.kwargs["timeout"].at for call in cluster.admin.list_offsets.call_args_list}
    assert len(deadlines) >= 3
