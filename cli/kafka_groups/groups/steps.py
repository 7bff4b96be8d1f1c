"""The steps of use cases. A `TimePlan` consists of them.

A step is requests that run at the same time, to as many brokers as they need. One with more requests, or with brokers
that work longer for each, has a larger weight: more time is reserved for it.
"""

from __future__ import annotations

from typing import Final

from kafka_groups.admin.api import Step

TOPICS: Final = Step("topics that the user named", 2)
COORDINATORS: Final = Step("leaders of the partitions of __consumer_offsets", 1)
LISTING: Final = Step("groups of each broker", 3)
UNFILTERED_LISTING: Final = Step("groups that a filter excludes, to distinguish them from absent ones", 1)
GROUPS: Final = Step("descriptions and commits", 4)
ABSENT_GROUPS: Final = Step("commits and types of groups that are described as absent", 1)
COMMITS: Final = Step("commits", 4)
STABLE_COMMITS: Final = Step("commits, with a wait for open transactions", 4)
LOG_ENDS: Final = Step("log ends of partitions with an owner or a commit", 3)
PARTITIONS: Final = Step("partitions of these topics", 1)
OTHER_LOG_ENDS: Final = Step("log ends of their other partitions", 1)
OFFSETS: Final = Step("offsets that a reset looks up", 3)
LOG_STARTS: Final = Step("log starts", 2)
STABLE_ENDS: Final = Step("last stable offsets", 2)
RECORDS: Final = Step("records, for time lag", 4)
OBSERVED_TOPICS: Final = Step("topics of observed groups, with their leaders", 1)
OTHER_LISTING: Final = Step("groups of each broker, to observe others beside the selected ones", 2)
OTHER_COMMITS: Final = Step("commits of other groups", 2)
LOG_TIMES: Final = Step("offsets of logs at earlier times", 3)
CONFIGS: Final = Step("configurations of topics, for their retention", 1)
CLUSTER_RIGHTS: Final = Step("operations of the user on the cluster", 1)
TOPIC_RIGHTS: Final = Step("operations of the user on topics", 1)
CHECK: Final = Step("second check of a plan", 4)
CHANGES: Final = Step("changes, and reading them back", 12)
