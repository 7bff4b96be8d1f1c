"""The lag of groups: by partition, in totals, in time; what polls saw of it; conditions on it."""
