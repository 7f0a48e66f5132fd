"""Export a model as an SQL query."""

from naively.export.sql.query import to_sql

__all__ = ["to_sql"]
