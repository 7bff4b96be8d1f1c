"""Members of a streams group with another topology than the group."""

from kafka_groups.causes.catalogue.streams_mixed_topologies import find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.observed_group import ObservedGroup, texts_of, time_of
from tests.causes.streams_group import streams_group, streams_member

SAME = streams_group(streams_member("new", epoch=2), streams_member("old", epoch=2), epoch=2)
MIXED = streams_group(streams_member("new", epoch=2), streams_member("old", epoch=1), epoch=2)


def test_a_member_with_an_older_topology_is_named_with_its_epoch() -> None:
    (finding,) = find(ObservedGroup(*[SAME] * 2, *[MIXED] * 4).all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(1), time_of(2))
    assert "1 member of 2 have another topology" in finding.summary
    assert "old on old has the topology epoch 1" in texts_of(finding)
    assert not finding.explains


def test_epochs_that_differ_at_one_poll_are_an_upgrade_in_progress() -> None:
    assert not [*find(ObservedGroup(*[SAME] * 5, MIXED).all_unexplained())]
    assert not [*find(ObservedGroup(*[MIXED] * 5, SAME).all_unexplained())]


def test_unknown_topologies_do_not_differ() -> None:
    unknown = MIXED._replace(topology=None)
    without_tasks = MIXED._replace(members=tuple(member._replace(streams=None) for member in MIXED.members))
    assert not [*find(ObservedGroup(*[unknown] * 6).all_unexplained())]
    assert not [*find(ObservedGroup(*[without_tasks] * 6).all_unexplained())]
