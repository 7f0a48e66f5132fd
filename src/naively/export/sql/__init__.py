"""A model as a query in SQL."""
