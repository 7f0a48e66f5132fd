"""A model as a query in SQL."""

from naively.export.sql.query import to_sql

__all__ = ["to_sql"]
