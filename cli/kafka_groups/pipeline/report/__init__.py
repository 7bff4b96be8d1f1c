"""The report on a period of the tables: findings, timelines, and how they are shown as text, HTML and JSON."""
