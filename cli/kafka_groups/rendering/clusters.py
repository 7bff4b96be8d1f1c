"""What results call a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple


class Cluster(NamedTuple):
    """A cluster in results: its name is its profile, else `cluster.name`, else its id.

    The name is empty if it is unknown, because no request has reached the cluster, and the id is None.
    """

    name: str
    id: str | None

    def document(self) -> dict[str, Any]:
        """Return the first keys of a group in JSON, or of a line of --format ndjson."""
        return {"cluster": self.name or None, "cluster_id": self.id}
