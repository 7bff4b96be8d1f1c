"""Coverage: until when each cluster was read, sampled and backfilled, and sentences on missing facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.pipeline.build.sentences import capitalize_first, name_cluster
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, SHARE_OFFSETS

# Each table has the time of a fact in this column.
TIME_COLUMNS: Final = {
    OFFSET_COMMITS: "commit_time",
    GROUP_EVENTS: "record_time",
    PARTITION_OFFSETS: "observed_at",
    SHARE_OFFSETS: "observed_at",
}
# A source is the name of a table of facts, and their origin: topic, sample or backfill.
Source = tuple[str, str]
_READ_COMMITS: Final[Source] = (OFFSET_COMMITS.name, "topic")
_READ_EVENTS: Final[Source] = (GROUP_EVENTS.name, "topic")
_SAMPLED_STATES: Final[Source] = (GROUP_EVENTS.name, "sample")
_SAMPLED_ENDS: Final[Source] = (PARTITION_OFFSETS.name, "sample")
_BACKFILLED_ENDS: Final[Source] = (PARTITION_OFFSETS.name, "backfill")


@dataclass(frozen=True, slots=True)
class Coverage:
    """The times of a cluster's newest facts: `last_ms` by table and origin, in milliseconds since 1970.

    Tables and origins without facts are absent.
    """

    last_ms: Mapping[Source, int] = field(default_factory=dict)

    @property
    def last_record_ms(self) -> int | None:
        """The time of the newest record that was read from `__consumer_offsets`, in ms since 1970; None without one."""
        return max((time_ms for (_, origin), time_ms in self.last_ms.items() if origin == "topic"), default=None)

    @property
    def last_sample_ms(self) -> int | None:
        """The time of the last sample of log end offsets, in ms since 1970; None without one."""
        return self.last_ms.get(_SAMPLED_ENDS)


def describe_missing_facts(coverages: Mapping[str, Coverage]) -> Iterator[str]:
    """Yield sentences about clusters that lack facts, and about the columns that cannot be derived without them.

    `coverages` are by cluster id.
    """
    yield from describe_missing_commits(coverages, "commit rates are unknown, verdicts are derived from samples")
    # A group with commits and without a record of its own has had no rebalance.
    sentence = "no group records were read from __consumer_offsets: rebalances are unknown."
    yield from _describe_clusters_without(coverages, sentence, _READ_EVENTS, _READ_COMMITS)
    sentence = "no log end offsets were sampled or backfilled: lag, time lag, rates and verdicts are unknown."
    yield from _describe_clusters_without(coverages, sentence, _SAMPLED_ENDS, _BACKFILLED_ENDS)
    sentence = "no group states were sampled: states of KIP-848 groups are unknown."
    yield from _describe_clusters_without(coverages, sentence, _SAMPLED_STATES)


def describe_missing_commits(coverages: Mapping[str, Coverage], consequence: str) -> Iterator[str]:
    """Yield a sentence with the consequence for each cluster from which no commit was read."""
    sentence = f"no commits were read from __consumer_offsets: {consequence}."
    return _describe_clusters_without(coverages, sentence, _READ_COMMITS)


def _describe_clusters_without(coverages: Mapping[str, Coverage], sentence: str, *sources: Source) -> Iterator[str]:
    """Yield the sentence for each cluster without facts from any of the sources; once if all clusters lack them."""
    clusters = [
        cluster for cluster, coverage in sorted(coverages.items()) if coverage.last_ms.keys().isdisjoint(sources)
    ]
    if len(clusters) == len(coverages):
        yield capitalize_first(sentence)
    else:
        yield from (name_cluster(sentence, cluster, coverages) for cluster in clusters)
