"""What is counted: summaries of columns, and the exact sums that they make, which add up."""
