"""Which model fits a table: rungs, left-out trials, diagnosis, comparison."""
