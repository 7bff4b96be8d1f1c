"""SaslHandshake: the mechanism that a login will use; what else the broker takes is in its answer (KIP-43)."""

from kafka_groups.protocol import INT16, STRING, Array, Field
from kafka_groups.protocol.api import Api

# From version 1 on the login itself travels in SaslAuthenticate (KIP-152), as every broker since 1.0 has it.
SASL_HANDSHAKE = Api(
    key=17,
    name="SaslHandshake",
    lowest=1,
    highest=1,
    flexible_since=2,
    request=(Field("mechanism", STRING),),
    response=(Field("error_code", INT16), Field("mechanisms", Array(STRING))),
)
