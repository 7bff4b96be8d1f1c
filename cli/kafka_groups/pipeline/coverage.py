"""Until when each cluster was read, sampled and backfilled, and sentences about those that were not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from kafka_groups.pipeline.sentences import capital, of_cluster, spell

TIMES: Final = {OFFSET_COMMITS: "commit_time", GROUP_EVENTS: "record_time", PARTITION_OFFSETS: "observed_at"}
_LATE_MS: Final = 600_000


@dataclass(frozen=True, slots=True)
class Reach:
    """The last time, in milliseconds since 1970, that a cluster's facts of each table and origin are of."""

    last_ms: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def of(self, table: Table, *origins: str) -> int | None:
        """Return the time of the newest such fact; None if there is none."""
        keys = ((table.name, origin) for origin in origins)
        return max((self.last_ms[key] for key in keys if key in self.last_ms), default=None)

    @property
    def read_ms(self) -> int | None:
        """The last record of `__consumer_offsets`."""
        times = (self.of(OFFSET_COMMITS, "topic"), self.of(GROUP_EVENTS, "topic"))
        return max((at_ms for at_ms in times if at_ms is not None), default=None)

    @property
    def sampled_ms(self) -> int | None:
        """The last sample of log ends."""
        return self.of(PARTITION_OFFSETS, "sample")


def commits_missing(reach: Mapping[str, Reach], so: str) -> Iterator[str]:
    """Return sentences about clusters of which no commit was read; `so` says what follows from that."""
    sentence = f"no commits were read from __consumer_offsets: {so}."
    return lacking(reach, sentence, (OFFSET_COMMITS, "topic"))


def lacking(reach: Mapping[str, Reach], sentence: str, *facts: tuple[Table, str]) -> Iterator[str]:
    """Yield the sentence once if no cluster has any such facts (a table and an origin), else for each one without."""
    without = [
        cluster
        for cluster, each in sorted(reach.items())
        if all(each.of(table, origin) is None for table, origin in facts)
    ]
    if len(without) == len(reach):
        yield capital(sentence)
    else:
        yield from (of_cluster(sentence, cluster, reach) for cluster in without)


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
