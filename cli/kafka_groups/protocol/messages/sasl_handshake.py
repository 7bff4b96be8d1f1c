"""SaslHandshake: the SASL mechanism that the client requests, and those that the broker supports (KIP-43)."""

from kafka_groups.protocol import INT16, STRING, Array, Field
from kafka_groups.protocol.schema import Api

# From version 1 on the messages of a mechanism are sent as SaslAuthenticate (KIP-152; every broker since 1.0).
SASL_HANDSHAKE = Api(
    key=17,
    name="SaslHandshake",
    lowest=1,
    highest=1,
    flexible_since=2,
    request=(Field("mechanism", STRING),),
    response=(Field("error_code", INT16), Field("mechanisms", Array(STRING))),
)
