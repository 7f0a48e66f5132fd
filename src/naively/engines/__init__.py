"""Who runs the work: threads."""
