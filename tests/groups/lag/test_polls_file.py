"""The file of a history: what is written is read back, and other files are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.errors import PollsFileError
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.polls_file import PollsScope, format_file, format_section, read_section, split_file
from kafka_groups.model import OffsetRow


def history_of(*polls: tuple[str, int, int]) -> Polls:
    """Return the history of groups that were polled each second: group, committed offset, log end offset."""
    history = Polls()
    for at_ms, (group, committed, end) in enumerate(polls):
        row = OffsetRow(group, "t", 0, None, committed, end, None, None, None, None, 0, "")
        history.observe([row], at_ms * 1000)
    return history


def write(history: Polls, *topics: str) -> str:
    """Return a file with the history of cluster `c`."""
    return format_file(PollsScope("uncommitted", topics), {"c": format_section(history, "c")})


def read(text: str) -> Polls:
    """Read the history of cluster `c`."""
    sections = split_file(text, name="lag.json")
    return read_section(sections["c"], name="lag.json") if sections else Polls()


_POLLS = st.lists(st.tuples(st.sampled_from(["g", 'a "quoted"\ngroup', "ü"]), st.integers(0, 9), st.integers(5, 20)))


@given(_POLLS)
def test_a_history_is_read_as_it_was_written(polls: list[tuple[str, int, int]]) -> None:
    history = history_of(*polls)
    assert read(write(history)) == history


def test_a_log_end_that_has_fallen_once_is_kept_for_the_next_run() -> None:
    history = read(write(history_of(("g", 5, 100), ("g", 6, 50))))
    fallen = history.partitions["g", "t", 0].fallen
    assert fallen is not None
    assert fallen.end == 50


def test_the_progress_and_the_verdict_of_a_long_history_are_read_as_they_were_written() -> None:
    history = Polls()
    for at in range(400):
        row = OffsetRow("g", "t", 0, None, 90 * at, 100 * at, None, None, None, None, 0, "")
        history.observe([row], at * 300_000, members=[0, 3, None][at % 3])
    assert history.paces()["g"].verdict.rule == "falling_behind"
    assert read(write(history)) == history
    assert len(write(history)) < 3_000


def test_a_log_start_above_the_commit_is_kept_for_the_next_run() -> None:
    history = Polls()
    for at_ms, start in enumerate((0, 0, 60, 100)):
        row = OffsetRow("g", "t", 0, None, 10 + at_ms, 100, None, None, None, None, start, "")
        history.observe([row], at_ms * 1000)
    assert read(write(history)) == history
    assert [sample.start for sample in history.partitions["g", "t", 0].moves] == [0, 0, 60, 100]


def test_a_strength_that_no_wait_can_have_is_refused() -> None:
    text = write(history_of(("g", 1, 50), ("g", 2, 50)))
    strength = str(read(text).partitions["g", "t", 0].progress.strengths[0])
    with pytest.raises(PollsFileError, match="damaged"):
        read(text.replace(strength, "9" * 15))


@given(_POLLS, st.integers(0, 400))
def test_a_file_that_was_cut_is_refused(polls: list[tuple[str, int, int]], size: int) -> None:
    text = write(history_of(*polls)).rstrip("\n")
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


def test_a_file_keeps_the_histories_of_clusters_apart() -> None:
    histories = {cluster: history_of(("g", at, 100), ("g", at + 1, 100)) for at, cluster in enumerate("abc")}
    written = {cluster: format_section(history, cluster) for cluster, history in histories.items()}
    sections = split_file(format_file(PollsScope("uncommitted"), written), name="f")
    assert sections == written
    assert {cluster: read_section(text, name="f") for cluster, text in sections.items()} == histories


@pytest.mark.parametrize(
    "damage", [('partitions": 1', 'partitions": 2'), ('clusters": 2', 'clusters": 1'), ('"b"', '"a"')]
)
def test_a_file_whose_sections_do_not_add_up_is_refused(damage: tuple[str, str]) -> None:
    sections = {cluster: format_section(history_of(("g", 1, 5)), cluster) for cluster in "ab"}
    text = format_file(PollsScope("uncommitted"), sections)
    with pytest.raises(PollsFileError, match="damaged"):
        split_file(text.replace(*damage), name="f")


@pytest.mark.parametrize(("version", "age"), [(1, "an older"), (2, "an older"), (4, "a newer"), (10, "a newer")])
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
    message = f"has the schema kafka-groups/polls/{version}, not .*/3: {age} version of kafka-groups wrote it"
    with pytest.raises(PollsFileError, match=message):
        read(text)


@pytest.mark.parametrize("schema", ["kafka-groups/lag/1", "kafka-groups/polls/x", "7"])
def test_a_file_of_another_schema_is_refused(schema: str) -> None:
    text = write(history_of(("g", 1, 5))).replace("kafka-groups/polls/3", schema)
    with pytest.raises(PollsFileError, match=f"is not a file of lag --polls: its schema is {schema}; use another file"):
        read(text)


def test_a_file_of_another_isolation_level_is_refused() -> None:
    text = write(history_of(("g", 1, 5)))
    assert [*split_file(text, name="f", scope=PollsScope("uncommitted"))] == ["c"]
    with pytest.raises(PollsFileError, match="f has the polls of --isolation uncommitted, and this is"):
        split_file(text, name="f", scope=PollsScope("committed"))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
def test_a_number_that_no_offset_can_be_is_refused(number: str) -> None:
    text = write(history_of(("g", 123, 5)))
    assert "123" in text
    with pytest.raises(PollsFileError, match="damaged"):
        read(text.replace("123", number))


def test_a_file_of_other_topics_is_refused() -> None:
    text = write(history_of(("g", 5, 100)), "orders", "payments:0,1")
    assert [*split_file(text, name="f", scope=PollsScope("uncommitted", ["orders", "payments:0,1"]))] == ["c"]
    problem = "f has the polls of --topic orders --topic payments:0,1, and this is all topics; use another file"
    with pytest.raises(PollsFileError, match=problem):
        split_file(text, name="f", scope=PollsScope("uncommitted"))
    whole = write(history_of(("g", 5, 100)))
    with pytest.raises(PollsFileError, match="f has the polls of all topics, and this is --topic orders;"):
        split_file(whole, name="f", scope=PollsScope("uncommitted", ["orders"]))
