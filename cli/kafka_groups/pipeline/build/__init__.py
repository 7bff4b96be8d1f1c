"""The build: the derived tables of the dates whose facts changed, and of all later dates.

The plan names the dates and files. An engine reads the files of facts once, as packed rows. The *partition stage* takes
the rows by cluster, topic and partition. Day by day, it writes lag and verdicts with the kernels, and passes statuses
on to the *group stage*. The group stage takes them by cluster and group, together with the groups' events, and writes
states, rebalances and daily numbers. Each stage also writes its state at the end of a day, from which the next build
continues.

run.py                 a build: plan, stages, commits of the tables
build_plan.py          the dates to write and to read, and the files to read
fact_state.py          which facts there are, and which of them the last build saw
local_engine.py, spark_engine.py   the stages in this process, and as jobs of Spark
tasks.py               the tasks of the two stages
stage_settings.py      settings of the stages

stage_rows.py          the rows that an engine moves between stages
packing.py             rows of frames in binary values
keyed_tables.py        rows of a key together in one table
fact_files.py, fact_columns.py     files of facts as rows for the stages
fact_summary.py, fact_parts.py     when entire clusters and groups were read

frames.py, group_frames.py         the frames that kernels take and return
kernels/               the calculations
qualities.py           the qualities of time lags
partition_batch.py, partition_stage.py, partition_results.py   the partition stage: input, days, results
partition_rows.py, partition_state.py                          its rows for tables, and its state
group_batch.py, group_events.py, group_stage.py                the group stage: input, events, days
topic_days.py          days of topics
earlier_rebalances.py  rebalances that began before the first date of a build

coverage.py, backlogs.py, stale_groups.py   sentences on missing facts and stale groups
sentences.py           parts of sentences
"""
