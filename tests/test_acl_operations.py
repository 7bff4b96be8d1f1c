"""The sets of operations that brokers return as bits."""

from __future__ import annotations

from kafka_groups.acl_operations import UNKNOWN_OPERATIONS, AclOperation, operations_of


def test_each_bit_is_the_operation_with_that_code() -> None:
    assert operations_of(1 << 8 | 1 << 3) == frozenset({AclOperation.DESCRIBE, AclOperation.READ})
    assert operations_of(0) == frozenset()


def test_the_value_of_brokers_that_return_no_operations_is_unknown() -> None:
    assert operations_of(UNKNOWN_OPERATIONS) is None


def test_operations_that_are_newer_than_this_version_are_left_out() -> None:
    assert operations_of(1 << 8 | 1 << 25) == frozenset({AclOperation.DESCRIBE})
