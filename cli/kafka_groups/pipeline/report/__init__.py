"""The report on a period: the history of groups as data, and its rendering as text, HTML and JSON.

history.py           the report as frozen data: groups, findings, missing data
history_reader.py    a history read from the tables, with all modules up to `missing_data`
period.py            the period, and SQL on the rows that a table has in it
last_rows.py         the last rows of each group in the period
fact_coverage.py     until when the facts of each cluster were read
deletions.py         which groups were deleted, and when
coordinators.py      which coordinators did not respond to samples
known_groups.py      each group at the end of the period, as the tables show it
summaries.py         state, lag and verdict of each group, and the order of groups
timeline.py          points of lag, starts of lag and rebalances over the period
findings.py          groups and topics that need attention
gaps.py              offsets without a record
missing_data.py      sentences on lag and verdicts that are unknown, partial or old
limits.py            limits on the groups and findings that are shown
peaks.py             the highest points of a series of lags
notation.py          times, lags and durations as texts
text/, html/, json/  the report on a terminal or in a pipe, as a page, as a document
"""
