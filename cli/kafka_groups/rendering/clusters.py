"""What results call a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple


class Cluster(NamedTuple):
    """A cluster in results: its name is its profile, else `cluster.name`, else its id. The id is None if unknown."""

    name: str
    id: str | None

    def document(self) -> dict[str, Any]:
        """Return the first keys of a group in JSON, or of a line of --format ndjson."""
        return {"cluster": self.name, "cluster_id": self.id}
