"""Whether ingest is behind the samples: its position against the sampled log ends of `__consumer_offsets`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.facts.source.table_positions import commit_batch, read_position
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import NOON, Row, commit, ends, new_storage, put_all

START: Final = int(NOON.timestamp() * 1_000)
MINUTE: Final = 60
LAST_SAMPLE: Final = 40 * MINUTE
POSITION: Final = {0: 100, 1: 50}
TIMES: Final = (
    "The last record that was read from __consumer_offsets was written at 2026-11-20T12:00Z, and the last sample was "
    "taken at 2026-11-20T12:40Z: "
)
BEHIND: Final = f"{TIMES}commits in between are known from samples only, until ingest runs again."
UNKNOWN: Final = f"{TIMES}commits in between, if there are any, are known from samples only, until ingest runs again."


def offsets_end(partition: int, end: int | None, *, seconds: float = LAST_SAMPLE, **others: Any) -> Row:
    """Return a sampled log end of a partition of `__consumer_offsets`."""
    return ends(seconds, end, topic=OFFSETS_TOPIC, partition=partition, **others)


def set_position(storage: Storage, topic_id: str | None = None) -> None:
    """Write a position, as an ingest that ended at POSITION does."""
    position = read_position(storage, "c", topic_id, list(POSITION))
    commit_batch(storage, [], "c", position, Position(topic_id, POSITION))


def sentences(storage: Storage) -> list[str]:
    """Return what a build says about the last record, which a report says, too."""
    built = [sentence for sentence in build_here(storage).missing if "last record" in sentence]
    reported = read_history(storage, since_ms=START, until_ms=START + (LAST_SAMPLE + MINUTE) * 1_000).missing
    assert [sentence for sentence in reported if "last record" in sentence] == built
    return built


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """A commit that was read at noon, and samples of its topic for forty minutes."""
    made = new_storage(tmp_path)
    logs = [ends(seconds, 9) for seconds in range(0, LAST_SAMPLE + 1, 5 * MINUTE)]
    put_all(made, "facts", {"offset_commits": [commit(0, 5, source=99)], "partition_offsets": logs})
    return made


@pytest.mark.parametrize(
    ("sampled", "expected"),
    [
        ([offsets_end(0, 100), offsets_end(1, 50)], []),
        ([offsets_end(0, 100), offsets_end(1, 51)], [BEHIND]),
        # Ingest reads to the last stable offset, and no further while a transaction is open.
        ([offsets_end(0, 107, last_stable_offset=100), offsets_end(1, 50)], []),
        # A partition that is new, and one whose records were all deleted.
        ([offsets_end(0, 100), offsets_end(2, 1)], [BEHIND]),
        ([offsets_end(0, 100), offsets_end(2, 7, log_start_offset=7)], []),
        # The leader of partition 1 did not respond.
        ([offsets_end(0, 100), offsets_end(1, None)], [UNKNOWN]),
        ([offsets_end(0, 101), offsets_end(1, None)], [BEHIND]),
        ([], [UNKNOWN]),
        # Only the last sample counts.
        ([offsets_end(0, 101, seconds=MINUTE), offsets_end(0, 100), offsets_end(1, 50)], []),
    ],
)
def test_ingest_is_behind_if_a_sampled_end_is_beyond_its_position(
    storage: Storage, sampled: list[Row], expected: list[str]
) -> None:
    put_all(storage, "ends", {"partition_offsets": sampled})
    set_position(storage)
    assert sentences(storage) == expected


def test_without_a_position_it_is_not_known_whether_ingest_is_behind(storage: Storage) -> None:
    put_all(storage, "ends", {"partition_offsets": [offsets_end(0, 100)]})
    assert sentences(storage) == [UNKNOWN]


def test_a_position_in_a_deleted_topic_shows_nothing(storage: Storage) -> None:
    sampled = [offsets_end(partition, 1, topic_id="new") for partition in POSITION]
    put_all(storage, "ends", {"partition_offsets": sampled})
    set_position(storage, topic_id="old")
    assert sentences(storage) == [UNKNOWN]


def test_a_position_in_a_topic_with_an_id_counts(storage: Storage) -> None:
    sampled = [offsets_end(partition, end, topic_id="id") for partition, end in POSITION.items()]
    put_all(storage, "ends", {"partition_offsets": sampled})
    set_position(storage, topic_id="id")
    assert sentences(storage) == []
