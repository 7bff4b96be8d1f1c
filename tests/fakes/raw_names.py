"""Names that are not UTF-8 in the responses of scripted brokers. Kafka's brokers have none, others may."""

from __future__ import annotations

from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import ALL
from tests.fakes.reactions import Reaction, ReceivedRequest
from tests.fakes.scripted_broker import encode_response

_APIS = {api.name: api for api in ALL}


def with_bytes(text: str, raw: bytes) -> Reaction:
    """Return a reaction that puts bytes, as many as the text has, in place of a text of the response."""
    assert len(text.encode()) == len(raw)

    def react(request: ReceivedRequest, response: Struct) -> bytes:
        encoded = encode_response(_APIS[request.api], request.version, response)
        assert text.encode() in encoded
        return encoded.replace(text.encode(), raw)

    return react
