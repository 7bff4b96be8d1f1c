"""What a leader knows of a producer that wrote to its partition."""

from __future__ import annotations

from typing import NamedTuple


class ProducerState(NamedTuple):
    """A producer that wrote to a partition, as its leader knows it (ProducerState.java, KIP-664).

    `last_timestamp_ms` is the timestamp of its last record, in milliseconds since 1970. `coordinator_epoch` is that of
    the coordinator that wrote its last transaction marker. `current_transaction_start_offset` is the offset of the
    first record of its open transaction, None without one. What the leader does not know is None.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int | None
    last_timestamp_ms: int | None
    coordinator_epoch: int | None
    current_transaction_start_offset: int | None
