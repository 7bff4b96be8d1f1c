"""The report on a period: the history of groups as data, and these data as text, HTML and JSON.

history.py           the report as frozen data: groups, findings, missing data
history_reader.py    reads a report from the tables; calls all modules up to `missing_data`
period.py            the period, and SQL on the rows that a table has in it
last_rows.py         the last rows of each group in the period
fact_coverage.py     until when the facts of each cluster were read
deletions.py         which groups were deleted, and when
coordinators.py      which coordinators did not respond to samples
known_groups.py      what the tables know of each group at the end of the period
summaries.py         state, lag and verdict of each group, and the order of groups
timeline.py          points of lag, starts of lag and rebalances over the period
findings.py          groups and topics that need attention
gaps.py              offsets without a record
missing_data.py      sentences on lag and verdicts that are unknown, partial or old
limits.py            how many groups and findings are shown
peaks.py             a series of lags with fewer points
notation.py          how times, lags and durations are written
text/, html/, json/  the report on a terminal or in a pipe, as a page, as a document
"""
