"""Normal distributions of several columns."""
