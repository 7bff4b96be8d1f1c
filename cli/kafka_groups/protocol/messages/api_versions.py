"""ApiVersions: the versions of each API that a broker supports (KIP-511 from version 3 on), and features (KIP-584)."""

from kafka_groups.protocol import INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

# A response has features (KIP-584).
FEATURES_SINCE = 3

API_VERSIONS = Api(
    key=18,
    name="ApiVersions",
    lowest=0,
    highest=3,
    flexible_since=3,
    response_tags=False,
    request=(
        Field("client_software_name", STRING, since=3),
        Field("client_software_version", STRING, since=3),
    ),
    response=(
        Field("error_code", INT16),
        Field(
            "api_keys",
            Array((Field("api_key", INT16), Field("min_version", INT16), Field("max_version", INT16))),
        ),
        Field("throttle_time_ms", INT32, since=1),
    ),
)

# The same response with the features, which connections do not need.
# Version 4 includes features whose lowest level is 0 (KIP-1022).
FEATURES = Api(
    key=API_VERSIONS.key,
    name=API_VERSIONS.name,
    lowest=API_VERSIONS.lowest,
    highest=4,
    flexible_since=API_VERSIONS.flexible_since,
    response_tags=API_VERSIONS.response_tags,
    request=API_VERSIONS.request,
    response=(
        *API_VERSIONS.response,
        Field(
            "supported_features",
            Array((Field("name", STRING), Field("min_version", INT16), Field("max_version", INT16))),
            since=FEATURES_SINCE,
            tag=0,
        ),
        Field(
            "finalized_features",
            Array((Field("name", STRING), Field("max_version_level", INT16), Field("min_version_level", INT16))),
            since=FEATURES_SINCE,
            tag=2,
        ),
    ),
)
