"""The observation of selected groups: polls of them, of their logs and of other groups, as evidence for causes."""
