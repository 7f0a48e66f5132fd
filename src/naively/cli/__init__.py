"""The `naively` command."""
