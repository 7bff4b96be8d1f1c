"""Kafka's error codes as in Errors.java: number, name, a sentence for the user, and whether a retry may succeed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_groups.errors import BrokerError

UNKNOWN_SERVER_ERROR: Final = -1
NONE: Final = 0
OFFSET_OUT_OF_RANGE: Final = 1
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
LEADER_NOT_AVAILABLE: Final = 5
NOT_LEADER_OR_FOLLOWER: Final = 6
REQUEST_TIMED_OUT: Final = 7
REPLICA_NOT_AVAILABLE: Final = 9
NETWORK_EXCEPTION: Final = 13
COORDINATOR_LOAD_IN_PROGRESS: Final = 14
COORDINATOR_NOT_AVAILABLE: Final = 15
NOT_COORDINATOR: Final = 16
INVALID_TOPIC_EXCEPTION: Final = 17
INCONSISTENT_GROUP_PROTOCOL: Final = 23
INVALID_GROUP_ID: Final = 24
UNKNOWN_MEMBER_ID: Final = 25
REBALANCE_IN_PROGRESS: Final = 27
INVALID_COMMIT_OFFSET_SIZE: Final = 28
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
UNSUPPORTED_SASL_MECHANISM: Final = 33
ILLEGAL_SASL_STATE: Final = 34
UNSUPPORTED_VERSION: Final = 35
KAFKA_STORAGE_ERROR: Final = 56
NON_EMPTY_GROUP: Final = 68
GROUP_ID_NOT_FOUND: Final = 69
FENCED_LEADER_EPOCH: Final = 74
UNKNOWN_LEADER_EPOCH: Final = 75
OFFSET_NOT_AVAILABLE: Final = 78
GROUP_SUBSCRIBED_TO_TOPIC: Final = 86
UNSTABLE_OFFSET_COMMIT: Final = 88
UNKNOWN_TOPIC_ID: Final = 100


class ErrorCode(NamedTuple):
    """One error code of Kafka; `retriable` says that the same request may succeed later."""

    number: int
    name: str
    sentence: str
    retriable: bool


# By number: name, whether Kafka's exception is a RetriableException, and a sentence for the codes that users meet.
# Constants, because an object for each code would take half a millisecond of the start of every command.
_CODES: Final[Mapping[int, tuple[str, bool, str | None]]] = {
    -1: ("UNKNOWN_SERVER_ERROR", False, "an unexpected error occurred on the broker; see its log"),
    0: ("NONE", False, None),
    1: ("OFFSET_OUT_OF_RANGE", False, "the log does not have this offset, or no longer; try again"),
    2: ("CORRUPT_MESSAGE", True, None),
    3: ("UNKNOWN_TOPIC_OR_PARTITION", True, "the topic or partition does not exist"),
    4: ("INVALID_FETCH_SIZE", False, None),
    5: ("LEADER_NOT_AVAILABLE", True, None),
    6: ("NOT_LEADER_OR_FOLLOWER", True, None),
    7: ("REQUEST_TIMED_OUT", True, None),
    8: ("BROKER_NOT_AVAILABLE", False, None),
    9: ("REPLICA_NOT_AVAILABLE", True, None),
    10: ("MESSAGE_TOO_LARGE", False, None),
    11: ("STALE_CONTROLLER_EPOCH", False, None),
    12: (
        "OFFSET_METADATA_TOO_LARGE",
        False,
        "the metadata of the commit is longer than the broker's offset.metadata.max.bytes",
    ),
    13: ("NETWORK_EXCEPTION", True, None),
    14: ("COORDINATOR_LOAD_IN_PROGRESS", True, "the coordinator is still loading this group"),
    15: ("COORDINATOR_NOT_AVAILABLE", True, "no coordinator is available for this group"),
    16: ("NOT_COORDINATOR", True, "the broker is no longer the coordinator of this group"),
    17: ("INVALID_TOPIC_EXCEPTION", False, "the topic's name is not valid"),
    18: ("RECORD_LIST_TOO_LARGE", False, None),
    19: ("NOT_ENOUGH_REPLICAS", True, None),
    20: ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", True, None),
    21: ("INVALID_REQUIRED_ACKS", False, None),
    22: ("ILLEGAL_GENERATION", False, None),
    23: ("INCONSISTENT_GROUP_PROTOCOL", False, None),
    24: ("INVALID_GROUP_ID", False, "the group id is not valid"),
    25: ("UNKNOWN_MEMBER_ID", False, "the group has no such member"),
    26: ("INVALID_SESSION_TIMEOUT", False, None),
    27: ("REBALANCE_IN_PROGRESS", False, "the group is rebalancing"),
    28: ("INVALID_COMMIT_OFFSET_SIZE", False, "the offsets are too many for one commit"),
    29: ("TOPIC_AUTHORIZATION_FAILED", False, "not allowed: this needs DESCRIBE on the topic"),
    30: ("GROUP_AUTHORIZATION_FAILED", False, "not allowed: this needs DESCRIBE on the group"),
    31: ("CLUSTER_AUTHORIZATION_FAILED", False, "not allowed: this needs DESCRIBE on the cluster"),
    32: ("INVALID_TIMESTAMP", False, None),
    33: ("UNSUPPORTED_SASL_MECHANISM", False, None),
    34: ("ILLEGAL_SASL_STATE", False, None),
    35: ("UNSUPPORTED_VERSION", False, None),
    36: ("TOPIC_ALREADY_EXISTS", False, None),
    37: ("INVALID_PARTITIONS", False, None),
    38: ("INVALID_REPLICATION_FACTOR", False, None),
    39: ("INVALID_REPLICA_ASSIGNMENT", False, None),
    40: ("INVALID_CONFIG", False, None),
    41: ("NOT_CONTROLLER", True, None),
    42: ("INVALID_REQUEST", False, None),
    43: ("UNSUPPORTED_FOR_MESSAGE_FORMAT", False, None),
    44: ("POLICY_VIOLATION", False, None),
    45: ("OUT_OF_ORDER_SEQUENCE_NUMBER", False, None),
    46: ("DUPLICATE_SEQUENCE_NUMBER", False, None),
    47: ("INVALID_PRODUCER_EPOCH", False, None),
    48: ("INVALID_TXN_STATE", False, None),
    49: ("INVALID_PRODUCER_ID_MAPPING", False, None),
    50: ("INVALID_TRANSACTION_TIMEOUT", False, None),
    51: ("CONCURRENT_TRANSACTIONS", True, None),
    52: ("TRANSACTION_COORDINATOR_FENCED", False, None),
    53: ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", False, None),
    54: ("SECURITY_DISABLED", False, None),
    55: ("OPERATION_NOT_ATTEMPTED", False, None),
    56: ("KAFKA_STORAGE_ERROR", True, None),
    57: ("LOG_DIR_NOT_FOUND", False, None),
    58: ("SASL_AUTHENTICATION_FAILED", False, None),
    59: ("UNKNOWN_PRODUCER_ID", False, None),
    60: ("REASSIGNMENT_IN_PROGRESS", False, None),
    61: ("DELEGATION_TOKEN_AUTH_DISABLED", False, None),
    62: ("DELEGATION_TOKEN_NOT_FOUND", False, None),
    63: ("DELEGATION_TOKEN_OWNER_MISMATCH", False, None),
    64: ("DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", False, None),
    65: ("DELEGATION_TOKEN_AUTHORIZATION_FAILED", False, None),
    66: ("DELEGATION_TOKEN_EXPIRED", False, None),
    67: ("INVALID_PRINCIPAL_TYPE", False, None),
    68: ("NON_EMPTY_GROUP", False, "the group is not empty: it has members"),
    69: ("GROUP_ID_NOT_FOUND", False, "there is no such group"),
    70: ("FETCH_SESSION_ID_NOT_FOUND", True, None),
    71: ("INVALID_FETCH_SESSION_EPOCH", True, None),
    72: ("LISTENER_NOT_FOUND", True, None),
    73: ("TOPIC_DELETION_DISABLED", False, None),
    74: ("FENCED_LEADER_EPOCH", True, None),
    75: ("UNKNOWN_LEADER_EPOCH", True, None),
    76: ("UNSUPPORTED_COMPRESSION_TYPE", False, None),
    77: ("STALE_BROKER_EPOCH", False, None),
    78: ("OFFSET_NOT_AVAILABLE", True, None),
    79: ("MEMBER_ID_REQUIRED", False, None),
    80: ("PREFERRED_LEADER_NOT_AVAILABLE", True, None),
    81: ("GROUP_MAX_SIZE_REACHED", False, None),
    82: ("FENCED_INSTANCE_ID", False, "another member of the group has this group.instance.id"),
    83: ("ELIGIBLE_LEADERS_NOT_AVAILABLE", True, None),
    84: ("ELECTION_NOT_NEEDED", True, None),
    85: ("NO_REASSIGNMENT_IN_PROGRESS", False, None),
    86: ("GROUP_SUBSCRIBED_TO_TOPIC", False, "a member of the group is subscribed to the topic"),
    87: ("INVALID_RECORD", False, None),
    88: ("UNSTABLE_OFFSET_COMMIT", True, "a transaction that commits offsets here is still open"),
    89: ("THROTTLING_QUOTA_EXCEEDED", True, None),
    90: ("PRODUCER_FENCED", False, None),
    91: ("RESOURCE_NOT_FOUND", False, None),
    92: ("DUPLICATE_RESOURCE", False, None),
    93: ("UNACCEPTABLE_CREDENTIAL", False, None),
    94: ("INCONSISTENT_VOTER_SET", False, None),
    95: ("INVALID_UPDATE_VERSION", False, None),
    96: ("FEATURE_UPDATE_FAILED", False, None),
    97: ("PRINCIPAL_DESERIALIZATION_FAILURE", False, None),
    98: ("SNAPSHOT_NOT_FOUND", False, None),
    99: ("POSITION_OUT_OF_RANGE", False, None),
    100: ("UNKNOWN_TOPIC_ID", True, "no topic has this id"),
    101: ("DUPLICATE_BROKER_REGISTRATION", False, None),
    102: ("BROKER_ID_NOT_REGISTERED", False, None),
    103: ("INCONSISTENT_TOPIC_ID", True, None),
    104: ("INCONSISTENT_CLUSTER_ID", False, None),
    105: ("TRANSACTIONAL_ID_NOT_FOUND", False, None),
    106: ("FETCH_SESSION_TOPIC_ID_ERROR", True, None),
    107: ("INELIGIBLE_REPLICA", False, None),
    108: ("NEW_LEADER_ELECTED", False, None),
    109: ("OFFSET_MOVED_TO_TIERED_STORAGE", False, None),
    110: ("FENCED_MEMBER_EPOCH", False, None),
    111: ("UNRELEASED_INSTANCE_ID", False, None),
    112: ("UNSUPPORTED_ASSIGNOR", False, None),
    113: ("STALE_MEMBER_EPOCH", False, None),
    114: ("MISMATCHED_ENDPOINT_TYPE", False, None),
    115: ("UNSUPPORTED_ENDPOINT_TYPE", False, None),
    116: ("UNKNOWN_CONTROLLER_ID", False, None),
    117: ("UNKNOWN_SUBSCRIPTION_ID", False, None),
    118: ("TELEMETRY_TOO_LARGE", False, None),
    119: ("INVALID_REGISTRATION", False, None),
    120: ("TRANSACTION_ABORTABLE", False, None),
    121: ("INVALID_RECORD_STATE", False, None),
    122: ("SHARE_SESSION_NOT_FOUND", True, None),
    123: ("INVALID_SHARE_SESSION_EPOCH", True, None),
    124: ("FENCED_STATE_EPOCH", False, None),
    125: ("INVALID_VOTER_KEY", False, None),
    126: ("DUPLICATE_VOTER", False, None),
    127: ("VOTER_NOT_FOUND", False, None),
    128: ("INVALID_REGULAR_EXPRESSION", False, None),
    129: ("REBOOTSTRAP_REQUIRED", False, None),
    130: ("STREAMS_INVALID_TOPOLOGY", False, None),
    131: ("STREAMS_INVALID_TOPOLOGY_EPOCH", False, None),
    132: ("STREAMS_TOPOLOGY_FENCED", False, None),
    133: ("SHARE_SESSION_LIMIT_REACHED", True, None),
    134: ("GROUP_DELETION_FAILED", False, "the broker could not delete the group; see its log"),
    135: ("STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", False, None),
    136: ("CONTROLLER_ID_NOT_REGISTERED", False, None),
}


def error_code(number: int) -> ErrorCode:
    """Return the error code of a number; a number newer than the table is named `ERROR_<number>`."""
    name, retriable, sentence = _CODES.get(number, (f"ERROR_{number}", False, None))
    return ErrorCode(number, name, sentence or name.lower().replace("_", " "), retriable)


def error_name(code: int) -> str:
    """Return Kafka's name of a code, or `ERROR_<number>` if the code is newer than the table."""
    return error_code(code).name


def broker_error(code: int, message: str | None = None) -> BrokerError:
    """Return a code as an error with the broker's own message, or with the code's sentence if there is none."""
    found = error_code(code)
    error = BrokerError(message or found.sentence)
    error.code = code
    error.name = found.name
    return error
