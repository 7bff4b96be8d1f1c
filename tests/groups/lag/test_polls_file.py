"""The file of a history: what is written is read back, and other files are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.errors import PollsFileError
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.polls_file import format_polls, read_polls
from kafka_groups.model import OffsetRow


def history_of(*polls: tuple[str, int, int]) -> Polls:
    """Return the history of groups that were polled each second: group, committed offset, log end offset."""
    history = Polls()
    for at_ms, (group, committed, end) in enumerate(polls):
        row = OffsetRow(group, "t", 0, None, committed, end, None, None, None, None, 0, "")
        history.observe([row], at_ms * 1000)
    return history


def read(text: str, cluster_id: str = "c") -> Polls:
    """Read a file of cluster `c`."""
    return read_polls(text, name="lag.json", cluster_id=cluster_id)


_POLLS = st.lists(st.tuples(st.sampled_from(["g", 'a "quoted"\ngroup', "ü"]), st.integers(0, 9), st.integers(5, 20)))


@given(_POLLS)
def test_a_history_is_read_as_it_was_written(polls: list[tuple[str, int, int]]) -> None:
    history = history_of(*polls)
    assert read(format_polls(history, "c", "uncommitted")) == history


def test_a_log_end_that_has_fallen_once_is_kept_for_the_next_run() -> None:
    history = read(format_polls(history_of(("g", 5, 100), ("g", 6, 50)), "c", "uncommitted"))
    fallen = history.partitions["g", "t", 0].fallen
    assert fallen is not None
    assert fallen.end == 50


def test_the_progress_and_the_verdict_of_a_long_history_are_read_as_they_were_written() -> None:
    history = Polls()
    for at in range(400):
        row = OffsetRow("g", "t", 0, None, 90 * at, 100 * at, None, None, None, None, 0, "")
        history.observe([row], at * 300_000, members=[0, 3, None][at % 3])
    assert history.paces()["g"].verdict.rule == "falling_behind"
    assert read(format_polls(history, "c", "uncommitted")) == history
    assert len(format_polls(history, "c", "uncommitted")) < 3_000


def test_a_log_start_above_the_commit_is_kept_for_the_next_run() -> None:
    history = Polls()
    for at_ms, start in enumerate((0, 0, 60, 100)):
        row = OffsetRow("g", "t", 0, None, 10 + at_ms, 100, None, None, None, None, start, "")
        history.observe([row], at_ms * 1000)
    assert read(format_polls(history, "c", "uncommitted")) == history
    assert [sample.start for sample in history.partitions["g", "t", 0].moves] == [0, 0, 60, 100]


def test_a_strength_that_no_wait_can_have_is_refused() -> None:
    text = format_polls(history_of(("g", 1, 50), ("g", 2, 50)), "c", "uncommitted")
    strength = str(read(text).partitions["g", "t", 0].progress.strengths[0])
    with pytest.raises(PollsFileError, match="damaged"):
        read(text.replace(strength, "9" * 15))


@given(_POLLS, st.integers(0, 400))
def test_a_file_that_was_cut_is_refused(polls: list[tuple[str, int, int]], size: int) -> None:
    text = format_polls(history_of(*polls), "c", "uncommitted").rstrip("\n")
    if 0 < size < len(text):
        with pytest.raises(PollsFileError):
            read(text[:size])


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_file_has_no_history(text: str) -> None:
    assert read(text) == Polls()


@pytest.mark.parametrize(
    "text", ["[]", "{}", "x", "null", '{"schema": "x", "cluster_id": "c"}', '{"a":1}\n[1,2]', "[" * 100_000, "\x00"]
)
def test_a_file_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(PollsFileError, match=r"lag\.json is not a file of lag --polls"):
        read(text)


def test_a_file_of_another_cluster_is_refused() -> None:
    with pytest.raises(PollsFileError, match=r"the polls of cluster c, and this is other"):
        read(format_polls(history_of(("g", 1, 5)), "c", "uncommitted"), "other")


@pytest.mark.parametrize(("version", "age"), [(1, "an older"), (3, "a newer"), (10, "a newer")])
@pytest.mark.parametrize(
    "rest",
    [
        '"cluster_id": "c", "partitions": 1, "lags": {}}\n["g", "t", 0, [[1, 5, 0]], [5], [1, 5, 0]]\n',
        '"cluster_id": "other", "partitions": 1, "lags": {}}\n{"group": "g", "topics": {}}\n',
        '"cluster": "c", "groups": 7}\nanother format\n',
        "}",
    ],
)
def test_a_file_of_another_version_is_refused_whatever_its_lines_are(version: int, age: str, rest: str) -> None:
    text = f'{{"schema": "kafka-groups/polls/{version}", {rest}'.replace(", }", "}")
    message = f"has the schema kafka-groups/polls/{version}, not .*/2: {age} version of kafka-groups wrote it"
    with pytest.raises(PollsFileError, match=message):
        read(text)


@pytest.mark.parametrize("schema", ["kafka-groups/lag/1", "kafka-groups/polls/x", "7"])
def test_a_file_of_another_schema_is_refused(schema: str) -> None:
    text = format_polls(history_of(("g", 1, 5)), "c", "uncommitted").replace("kafka-groups/polls/2", schema)
    with pytest.raises(PollsFileError, match=f"is not a file of lag --polls: its schema is {schema}; use another file"):
        read(text)


def test_a_file_of_another_isolation_level_is_refused() -> None:
    text = format_polls(history_of(("g", 1, 5)), "c", "uncommitted")
    assert read_polls(text, name="f", cluster_id="c", isolation="uncommitted") == read(text)
    with pytest.raises(PollsFileError, match="f has the polls of --isolation uncommitted, and this is"):
        read_polls(text, name="f", cluster_id="c", isolation="committed")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
def test_a_number_that_no_offset_can_be_is_refused(number: str) -> None:
    text = format_polls(history_of(("g", 123, 5)), "c", "uncommitted")
    assert "123" in text
    with pytest.raises(PollsFileError, match="damaged"):
        read(text.replace("123", number))


def test_a_file_of_other_topics_is_refused() -> None:
    text = format_polls(history_of(("g", 5, 100)), "c", "uncommitted", ["orders", "payments:0,1"])
    assert read_polls(text, name="f", cluster_id="c", topics=["orders", "payments:0,1"]) == read(text)
    problem = "f has the polls of --topic orders --topic payments:0,1, and this is all topics; use another file"
    with pytest.raises(PollsFileError, match=problem):
        read_polls(text, name="f", cluster_id="c", topics=[])
    whole = format_polls(history_of(("g", 5, 100)), "c", "uncommitted")
    with pytest.raises(PollsFileError, match="f has the polls of all topics, and this is --topic orders;"):
        read_polls(whole, name="f", cluster_id="c", topics=["orders"])
