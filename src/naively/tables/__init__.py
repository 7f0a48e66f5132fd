"""Train models from Arrow tables: infer column types, encode rows, count, and merge."""
