"""Pure functions that compute lag, verdicts and rebalances from facts: numpy, Arrow and plain Python, without Spark.

For each day, the partition stage calls the kernels that number logs, order commits, and compute lag, time lag, rates
and verdicts for many partitions at once. The group stage then calls the kernels that combine these results by group,
and that find members, states and rebalances in each group's records. The stages build rows of tables from the results.

segments.py              operations on runs of equal rows, on which the other kernels are based
log_ends.py              log end offsets: their logs, and which of them can be used
committed_offsets.py, consumption.py, inferred_deletions.py   commits of keys, what they consumed, and their deletions
lag.py, lag_extremes.py  lag in records, and the worst values of a day
time_index.py, time_lag.py   when records were written, and lag in time
rates.py                 rates of reading and writing, and the time to catch up
observations.py, progress.py, lag_minima.py, verdicts.py   verdicts on keys

group_status.py, group_daily.py   statuses and days of groups, from the statuses and days of their keys
group_records.py, group_reader.py   the records of a group, and what they show
membership.py, group_timeline.py   its members, and its state over a day
classic_rebalances.py, epoch_rebalances.py, rebalance_rows.py   its rebalances
group_checkpoint.py, group_days.py   the group at the end of a day, and day by day
"""
