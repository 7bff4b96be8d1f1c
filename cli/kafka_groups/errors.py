"""Everything that can go wrong, as one tree.

KafkaGroupsError                  carries the exit code that the root command uses
├── SettingsError                 what the user gave cannot be used (exit 2)
├── IncompleteResultError         some items failed (exit 3), or all of them (exit 1)
├── SandboxError                  the local Kafka could not be run (exit 1)
├── PipelineError                 the pipeline could not be run; tables are as they were (exit 1)
│   ├── SparkMissingError         no Spark, or no Java that it runs on
│   ├── WorkerLateError           Spark did not wait for its Python, which was slow to start: another try may do
│   ├── SourceError               __consumer_offsets cannot be read, or is not the one that was read before
│   │   └── UnreachableError      brokers are away, or say that it is not the time: later it may do
│   └── StorageError              the directory of the tables cannot be used
└── AdminError                    something asked of a cluster failed; `name` is the contract's errors[].name
    ├── BrokerError               a broker answered with an error code of Kafka's
    ├── TimeoutExceededError      TIMEOUT
    ├── NameNotResolvedError      NAME_NOT_RESOLVED
    ├── ConnectionFailedError     CONNECTION_FAILED
    │   └── BrokerTimeoutError     TIMEOUT: it took a request, and then said nothing
    ├── TlsFailedError            TLS_FAILED
    ├── AuthenticationFailedError AUTHENTICATION_FAILED
    ├── UnsupportedVersionError   UNSUPPORTED_VERSION
    ├── InvalidRequestError            INVALID_REQUEST, with Kafka's code
    ├── MissingFromResponseError    MISSING_FROM_RESPONSE
    └── MalformedResponseError            MALFORMED_RESPONSE
"""

from __future__ import annotations


class KafkaGroupsError(Exception):
    """Root of the tree; its text is one sentence for the user: what, where, the next step."""

    exit_code: int = 1


class SettingsError(KafkaGroupsError):
    """A flag, variable, profile or file holds something that cannot be used."""

    exit_code = 2


class SandboxError(KafkaGroupsError):
    """The sandbox could not be started, seeded or stopped."""


class PipelineError(KafkaGroupsError):
    """The pipeline could not do what it was asked; what its tables held before, they still hold."""


class SparkMissingError(PipelineError):
    """pyspark is not installed, or there is no Java that it runs on."""


class WorkerLateError(PipelineError):
    """A Python worker of Spark's was not there in time; the same may do when the machine is less busy."""


class SourceError(PipelineError):
    """`__consumer_offsets` may not or cannot be read, or is another cluster's than the checkpoint's."""


class UnreachableError(SourceError):
    """Brokers did not answer in time, or answered that they cannot now; the same question may do later."""


class StorageError(PipelineError):
    """The directory of the tables is not ours, is of a newer version, or cannot be read or written."""


class AdminError(KafkaGroupsError):
    """Something that was asked of a cluster failed.

    `code` is Kafka's error code, or None for what happened on our side; `name` is stable and
    machine-readable in both cases.
    """

    name: str = "UNKNOWN_SERVER_ERROR"
    code: int | None = None


class BrokerError(AdminError):
    """A broker answered with an error code."""

    def __init__(self, message: str, *, code: int, name: str) -> None:
        super().__init__(message)
        self.code = code
        self.name = name


class TimeoutExceededError(AdminError):
    """The deadline passed before an answer came."""

    name = "TIMEOUT"


class NameNotResolvedError(AdminError):
    """A host name has no address."""

    name = "NAME_NOT_RESOLVED"


class ConnectionFailedError(AdminError):
    """No connection could be made, or it was lost."""

    name = "CONNECTION_FAILED"


class BrokerTimeoutError(ConnectionFailedError):
    """A broker took what was asked and then sent nothing for as long as others must not wait for it."""

    name = "TIMEOUT"


class TlsFailedError(AdminError):
    """The TLS handshake failed, or one side speaks TLS and the other does not."""

    name = "TLS_FAILED"


class AuthenticationFailedError(AdminError):
    """The broker refused our credentials."""

    name = "AUTHENTICATION_FAILED"


class UnsupportedVersionError(AdminError):
    """The broker is too old for what was asked."""

    name = "UNSUPPORTED_VERSION"


class InvalidRequestError(AdminError):
    """A name that no request can carry; a broker would call it an invalid request, so it is called that."""

    name = "INVALID_REQUEST"
    code = 42


class MissingFromResponseError(AdminError):
    """A broker's answer lacks an item that was asked for."""

    name = "MISSING_FROM_RESPONSE"


class MalformedResponseError(AdminError):
    """Bytes came that are not a Kafka answer."""

    name = "MALFORMED_RESPONSE"


class IncompleteResultError(KafkaGroupsError):
    """Something was not answered, and has been told item by item: nothing is left to say but the exit code."""

    def __init__(self, *, anything_succeeded: bool) -> None:
        super().__init__("")
        self.exit_code = 3 if anything_succeeded else 1
