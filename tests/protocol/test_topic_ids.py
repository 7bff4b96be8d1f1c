"""Topic ids as texts: the form of Kafka's tools, and only that form."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafka_groups.protocol.topic_ids import format_topic_id, parse_topic_id

# The text that Kafka's class Uuid prints for this id.
ID, TEXT = UUID("9fb1ca25-4fdb-4e2b-bd5b-0c6f1ff9e5c6"), "n7HKJU_bTiu9WwxvH_nlxg"


def test_the_text_of_an_id_is_base64_for_urls_without_padding() -> None:
    assert format_topic_id(ID) == TEXT
    assert format_topic_id(UUID(int=0)) == "A" * 22
    assert format_topic_id(UUID(int=2**128 - 1)) == "_" * 21 + "w"


@pytest.mark.parametrize("topic_id", [ID, UUID(int=0), UUID(int=1), UUID(int=2**128 - 1)])
def test_a_text_is_parsed_to_its_id(topic_id: UUID) -> None:
    assert parse_topic_id(format_topic_id(topic_id)) == topic_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "t",
        TEXT[:-1],
        f"{TEXT}A",
        f"{TEXT}==",
        TEXT.replace("_", "/"),
        # The last character has four unused bits, which are zero.
        f"{TEXT[:-1]}h",
        f"{TEXT[:10]} {TEXT[10:]}",
        str(ID),
        "é" * 22,
    ],
)
def test_another_text_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(ValueError, match="is not a topic id") as caught:
        parse_topic_id(text)
    assert f"'{text}'" in str(caught.value)
