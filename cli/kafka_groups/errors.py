"""The errors that this package raises, as one tree.

KafkaGroupsError                  carries the exit code of the command
├── SettingsError                 a setting cannot be used (exit 2)
│   └── KerberosMissingError      the library gssapi is not installed
├── PlanFileError                 a file with changes cannot be used (exit 2)
├── JournalError                  a journal of changes cannot be written or read (exit 1)
├── PollsFileError                a file for --polls cannot be used (exit 2)
├── ExportError                   a file cannot be written (exit 1)
├── ListenError                   the exporter cannot listen on its address (exit 1)
├── UnwrittenResultError          stdout cannot be written after changes were made (exit 3)
├── IncompleteResultError         some items failed (exit 3), or all of them (exit 1)
├── CheckFailedError              a condition of the user holds, or does not (exit 4)
├── SandboxError                  the local Kafka could not be run (exit 1)
├── PipelineError                 the pipeline could not run; its tables are unchanged (exit 1)
│   ├── SparkMissingError         Spark is not installed, or no Java that it runs on
│   ├── SourceError               __consumer_offsets cannot be read, or belongs to another cluster
│   │   └── UnreachableError      brokers are unavailable; a retry may succeed
│   └── StorageError              the directory of the tables cannot be used
└── AdminError                    a request to a cluster failed; `name` is errors[].name of the JSON documents
    ├── BrokerError               a broker returned an error code
    ├── TimeoutExceededError      TIMEOUT
    ├── NameNotResolvedError      NAME_NOT_RESOLVED
    ├── ConnectionFailedError     CONNECTION_FAILED
    │   ├── NoConnectionError     the broker refuses connections
    │   ├── NoBrokersError        the broker returned no brokers
    │   └── BrokerTimeoutError    TIMEOUT: the broker sent nothing until a timeout
    ├── TlsFailedError            TLS_FAILED
    ├── AuthenticationFailedError AUTHENTICATION_FAILED
    │   ├── TokenFailedError      TOKEN_FAILED: there is no token to send to the broker
    │   ├── MissingFeatureError   librdkafka is built without what the settings need
    │   └── TicketFailedError     there is no Kerberos ticket for the broker
    │       └── ServiceUnknownError the KDC does not know the broker's service
    ├── ConfigProviderError       CONFIG_PROVIDER_FAILED
    ├── UnsupportedVersionError   UNSUPPORTED_VERSION
    ├── InvalidRequestError       INVALID_REQUEST, with Kafka's code
    ├── ChangeRefusedError        REFUSED
    ├── TopicRecreatedError       TOPIC_RECREATED
    ├── MissingFromResponseError  MISSING_FROM_RESPONSE
    ├── OutcomeUnknownError       OUTCOME_UNKNOWN
    └── MalformedResponseError    MALFORMED_RESPONSE
        └── ResponseTooLargeError larger than this tool reads
"""

from __future__ import annotations

from typing import Final

from kafka_groups.exit_codes import ExitCode, ResultStatus


class KafkaGroupsError(Exception):
    """The root of the tree. Its text is one sentence for the user: what failed, why, and what to do next."""

    exit_code: ExitCode = ExitCode.FAILED


class SettingsError(KafkaGroupsError):
    """A property, flag, variable, profile or file with a value that cannot be used."""

    exit_code = ExitCode.USAGE


class KerberosMissingError(SettingsError):
    """Kerberos in the settings, without the library gssapi; the text has the lines that install it."""


class PlanFileError(KafkaGroupsError):
    """A file with changes that cannot be used; the text names the file, and the line or the key."""

    exit_code = ExitCode.USAGE


class JournalError(KafkaGroupsError):
    """A journal of changes that cannot be written or read; the text says whether anything was changed."""


class CheckFailedError(KafkaGroupsError):
    """A condition of `--fail-if` that holds, or one of `wait --until` that did not hold in time."""

    exit_code = ExitCode.CHECK_FAILED


class PollsFileError(KafkaGroupsError):
    """A file for `lag --polls` that has another kind or no polls of a cluster, or that is damaged."""

    exit_code = ExitCode.USAGE


class ExportError(KafkaGroupsError):
    """A file beside the output that cannot be written: a plan, polls, metrics."""


class ListenError(KafkaGroupsError):
    """An address that the exporter cannot listen on."""


class UnwrittenResultError(KafkaGroupsError):
    """A result that cannot be written to stdout, after changes were made."""

    exit_code = ExitCode.PARTIAL


class SandboxError(KafkaGroupsError):
    """A sandbox that could not be started, seeded or stopped."""


class PipelineError(KafkaGroupsError):
    """A run of the pipeline that failed; the tables still hold what they held before."""


class SparkMissingError(PipelineError):
    """A missing pyspark, or a missing Java that it runs on."""


class SourceError(PipelineError):
    """A topic `__consumer_offsets` that cannot be read, or that is not the one that was read before."""


class UnreachableError(SourceError):
    """Brokers that did not respond in time, or that are temporarily unavailable; a retry may succeed."""


class StorageError(PipelineError):
    """A directory of tables that this tool did not create, that a newer version wrote, or that cannot be accessed."""


class AdminError(KafkaGroupsError):
    """A request to a cluster that failed.

    `code` is the error code that a broker returned, or None if the client found the failure (InvalidRequestError has
    Kafka's code, too); `name` is stable and machine-readable in both cases.
    """

    name: str = "UNKNOWN_SERVER_ERROR"
    code: int | None = None


class BrokerError(AdminError):
    """An error code that a broker returned; `protocol.errors.broker_error` creates it."""

    code: int


class TimeoutExceededError(AdminError):
    """A deadline that passed before the response came."""

    name = "TIMEOUT"


class NameNotResolvedError(AdminError):
    """A host name without an address."""

    name = "NAME_NOT_RESOLVED"


class ConnectionFailedError(AdminError):
    """A connection that could not be established, or that was lost."""

    name = "CONNECTION_FAILED"


class NoConnectionError(ConnectionFailedError):
    """A host that accepts connections at none of its addresses."""


class NoBrokersError(ConnectionFailedError):
    """A broker that does not know the brokers of its cluster, itself included; it may be starting."""


class BrokerTimeoutError(ConnectionFailedError):
    """A broker that did not accept a connection, or sent nothing, until a timeout."""

    name = "TIMEOUT"


class TlsFailedError(AdminError):
    """A failed TLS handshake, or a connection with TLS on one side only."""

    name = "TLS_FAILED"


class AuthenticationFailedError(AdminError):
    """Credentials that the broker refused."""

    name = "AUTHENTICATION_FAILED"


class TokenFailedError(AuthenticationFailedError):
    """A token that could not be fetched: from a file, a command, an endpoint or a cloud service."""

    name = "TOKEN_FAILED"


class TicketFailedError(AuthenticationFailedError):
    """A Kerberos ticket that could not be obtained: from the ticket cache, the keytab, or the KDC."""


class ServiceUnknownError(TicketFailedError):
    """A broker whose service, or whose host name, the KDC does not know; it may know those of others."""


class MissingFeatureError(AuthenticationFailedError):
    """Credentials that need a feature which this build of librdkafka does not have."""


class ConfigProviderError(AdminError):
    """A file or a directory of a config provider that cannot be read, so that a setting has no value."""

    name = "CONFIG_PROVIDER_FAILED"


class UnsupportedVersionError(AdminError):
    """A broker that is too old for the request."""

    name = "UNSUPPORTED_VERSION"


class InvalidRequestError(AdminError):
    """A name that no request can carry; it has the code and name that a broker would return."""

    name = "INVALID_REQUEST"
    code = 42


class ChangeRefusedError(AdminError):
    """A change that is refused because the user cannot have meant it, or because the group has changed."""

    name = "REFUSED"


class TopicRecreatedError(AdminError):
    """A change of a commit whose topic was deleted and recreated: the offsets are those of another log."""

    name = "TOPIC_RECREATED"


class MissingFromResponseError(AdminError):
    """An item of the request that the response does not contain."""

    name = "MISSING_FROM_RESPONSE"


_UNKNOWN: Final = "the outcome is unknown: "
_CHECK: Final = "; check the group before you repeat the change"


class OutcomeUnknownError(AdminError):
    """A change whose request was sent and whose response was lost: the broker may have made it, or not."""

    name = "OUTCOME_UNKNOWN"

    @classmethod
    def because(cls, cause: AdminError) -> OutcomeUnknownError:
        """Return the error with the reason why nobody knows the outcome."""
        return cls(f"{_UNKNOWN}{cause}{_CHECK}")

    @staticmethod
    def reason_of(message: str) -> str:
        """Return the reason in the message of such an error, for a caller that found out the outcome."""
        return message.removeprefix(_UNKNOWN).removesuffix(_CHECK)


class MalformedResponseError(AdminError):
    """A response that does not follow Kafka's protocol."""

    name = "MALFORMED_RESPONSE"


class ResponseTooLargeError(MalformedResponseError):
    """A response that is larger than this tool reads; requests of fewer items may succeed."""


class IncompleteResultError(KafkaGroupsError):
    """Items that failed and were reported one by one; it carries only the exit code."""

    def __init__(self, status: ResultStatus) -> None:
        super().__init__("")
        self.exit_code = status.exit_code
