"""The use cases that change groups: each is planned, checked, executed, and can be undone.

`reset`, `deletion` and `member_removal` plan changes, `execution` makes them and reads back unknown outcomes, `journal`
records them, `runs` reads the records, and `undo` plans the restoration of commits. `plan_file` and `csv_file` read and
write files of plans.
"""
