"""What is derived from the facts: functions from DataFrames to DataFrames, each of which ends in a select.

Every row that a step works on has a `day`: the date that is being made. A date's tables follow from the facts of that
date and of the days before it that `horizon` lets it see, and from nothing else: so it does not matter when, how often,
in which order or together with which other dates they are made. All is window SQL; no step runs Python per row.
"""
