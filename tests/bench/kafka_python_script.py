"""A program that is compared: the offsets of all groups with kafka-python, whose requests name many groups."""

from __future__ import annotations

import sys

from kafka.admin import KafkaAdminClient, OffsetSpec


def main(command: str, bootstrap: str) -> None:
    """Print the ids of all groups, or the sums of all their commits."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap.split(","))
    groups = [listing["group_id"] for listing in admin.list_groups()]
    if command == "list":
        sys.stdout.write("\n".join(groups) + "\n")
    else:
        offsets = admin.list_group_offsets(groups)
        partitions = {partition for commits in offsets.values() for partition in commits}
        ends = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        rows = [(partition, commit) for commits in offsets.values() for partition, commit in commits.items()]
        committed = sum(commit.offset for _, commit in rows)
        end = sum(ends[partition].offset for partition, _ in rows)
        sys.stdout.write(f"{len(rows)} {committed} {end}\n")
    admin.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
