"""The report as a JSON document."""
