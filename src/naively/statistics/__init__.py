"""Define summaries of columns, and their exact sufficient statistics, which add up."""
