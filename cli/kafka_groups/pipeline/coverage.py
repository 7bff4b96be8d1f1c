"""Until when each cluster was read, sampled and backfilled, and sentences about what the facts lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from kafka_groups.pipeline.sentences import capital, of_cluster, spell

TIMES: Final = {OFFSET_COMMITS: "commit_time", GROUP_EVENTS: "record_time", PARTITION_OFFSETS: "observed_at"}
_LATE_MS: Final = 600_000
_NO_COMMITS: Final = "no commits were read from __consumer_offsets"
# Each with the facts of which any would do.
_SENTENCES: Final = (
    (f"{_NO_COMMITS}: commit rates are unknown, verdicts are derived from samples.", (OFFSET_COMMITS, "topic")),
    (
        # A group with commits and without a record of its own has had no rebalance.
        "no group records were read from __consumer_offsets: rebalances are unknown.",
        (GROUP_EVENTS, "topic"),
        (OFFSET_COMMITS, "topic"),
    ),
    (
        "no log end offsets were sampled or backfilled: lag, time lag, rates and verdicts are unknown.",
        (PARTITION_OFFSETS, "sample"),
        (PARTITION_OFFSETS, "backfill"),
    ),
    ("no group states were sampled: states of KIP-848 groups are unknown.", (GROUP_EVENTS, "sample")),
)


@dataclass(frozen=True, slots=True)
class Reach:
    """The last time, in milliseconds since 1970, that a cluster's facts of each table and origin are of."""

    last_ms: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def read_ms(self) -> int | None:
        """The last record of `__consumer_offsets`."""
        times = (self.last_ms.get((table.name, "topic")) for table in (OFFSET_COMMITS, GROUP_EVENTS))
        return max((at_ms for at_ms in times if at_ms is not None), default=None)

    @property
    def sampled_ms(self) -> int | None:
        """The last sample of log ends."""
        return self.last_ms.get((PARTITION_OFFSETS.name, "sample"))


def describe_missing(reach: Mapping[str, Reach]) -> Iterator[str]:
    """Yield sentences about clusters that lack facts, and what cannot be derived without them."""
    for sentence, *facts in _SENTENCES:
        yield from _lacking(reach, sentence, *facts)
    yield from behind(reach)


def commits_missing(reach: Mapping[str, Reach], so: str) -> Iterator[str]:
    """Return sentences about clusters of which no commit was read; `so` says what follows from that."""
    return _lacking(reach, f"{_NO_COMMITS}: {so}.", (OFFSET_COMMITS, "topic"))


def behind(reach: Mapping[str, Reach]) -> Iterator[str]:
    """Yield sentences about clusters with samples of ten minutes after the last record, or more."""
    for cluster, each in sorted(reach.items()):
        read_ms, sampled_ms = each.read_ms, each.sampled_ms
        if read_ms is not None and sampled_ms is not None and sampled_ms - read_ms > _LATE_MS:
            sentence = (
                f"the last record that was read from __consumer_offsets is of {spell(read_ms)}, the last sample of "
                f"{spell(sampled_ms)}: commits in between are known from samples only, until ingest runs again."
            )
            yield of_cluster(sentence, cluster, reach)


def _lacking(reach: Mapping[str, Reach], sentence: str, *facts: tuple[Table, str]) -> Iterator[str]:
    """Yield the sentence once if no cluster has any such facts (a table and an origin), else for each one without."""
    names = {(table.name, origin) for table, origin in facts}
    without = [cluster for cluster, each in sorted(reach.items()) if names.isdisjoint(each.last_ms)]
    if len(without) == len(reach):
        yield capital(sentence)
    else:
        yield from (of_cluster(sentence, cluster, reach) for cluster in without)
