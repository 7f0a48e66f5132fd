"""Whether the columns depend on each other, and which model family fits a table."""
