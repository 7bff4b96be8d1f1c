"""SaslAuthenticate: the messages of a SASL mechanism (KIP-152), and the lifetime of the session (KIP-368)."""

from kafka_groups.protocol import BYTES, INT16, INT64, STRING, Field
from kafka_groups.protocol.schema import Api

SASL_AUTHENTICATE = Api(
    key=36,
    name="SaslAuthenticate",
    lowest=0,
    highest=2,
    flexible_since=2,
    request=(Field("auth_bytes", BYTES),),
    response=(
        Field("error_code", INT16),
        Field("error_message", STRING, nullable_since=0, default=None),
        Field("auth_bytes", BYTES),
        Field("session_lifetime_ms", INT64, since=1),
    ),
)
