"""A streams group is not ready: its topology is not valid, such as without its source topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_tasks
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.series import held_since, total_lag
from kafka_groups.command_lines import command_line
from kafka_groups.kinds import NOT_READY

# A group is not ready for a moment while it creates its internal topics.
_POLLS: Final = 2


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the group was not ready at the last two polls; a single poll counts alone."""
    if not all(map(_is_not_ready, evidence.polls[-_POLLS:])):
        return
    group, at_ms = evidence.last.group, evidence.last.at_ms
    absent = sorted(topic for topic, polls in evidence.topics.items() if polls and not polls[-1].exists)
    yield Finding(
        summary="The streams group is NotReady: its topology does not fit the topics, so no task runs.",
        certainty=Certainty.CERTAIN if len(evidence.polls) >= _POLLS else Certainty.LIKELY,
        facts=(
            Fact(f"The state of the group is {group.state}.", at_ms=at_ms, epoch=group.group_epoch),
            *(Fact(f"The topic {topic} does not exist.", at_ms=at_ms, topic=topic) for topic in absent),
        ),
        refuted_by="Another state of the group: it is left as soon as the topics fit.",
        next_step="Compare the source topics of the application with those of the cluster. One does not exist, or "
        "topics that are joined have different numbers of partitions.",
        next_command=command_line(
            "kafka-topics.sh", "--bootstrap-server", evidence.bootstrap_server, "--describe", "--exclude-internal"
        ),
        since=held_since([(poll.at_ms, _is_not_ready(poll)) for poll in evidence.polls]),
        explains=evidence.unexplained,
        lag=total_lag(evidence.open_partitions()),
    )


def _is_not_ready(poll: GroupPoll) -> bool:
    return poll.group.state == NOT_READY


CAUSE: Final = Cause(
    name="streams_not_ready",
    title="the topology of a streams group is not valid",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS,),
    find=find,
    place=52,
    applies_to=has_tasks,
)
