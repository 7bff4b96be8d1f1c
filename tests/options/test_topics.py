"""The option --topic: its texts and the partitions that they name."""

from __future__ import annotations

import pytest

from kafka_groups.options.topics import format_topics, parse_topics


@pytest.mark.parametrize(
    ("texts", "formatted"),
    [
        ((), []),
        (("u", "t:3,0", "t:1"), ["t:0,1,3", "u"]),
        (("t:3", "t"), ["t"]),
    ],
)
def test_formatted_topics_name_the_same_partitions(texts: tuple[str, ...], formatted: list[str]) -> None:
    topics = parse_topics(texts)
    assert format_topics(topics) == formatted
    assert parse_topics(formatted) == topics
