"""Programs for the development of this project, which are in no wheel."""
