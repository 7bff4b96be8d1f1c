"""What is derived from the facts: functions from DataFrames to DataFrames; what ends as a table ends in a select.

Rows of commits and of log ends have a `day`: the date that is being made. A date's tables follow from the facts of that
date and of the days before it that `horizon` lets it see (rebalances also from the day after; who is in a group from
all days before), and from nothing else: so it does not matter when, how often, in which order or together with which
other dates they are made. All is window SQL; no step runs Python per row.
"""
