"""Models said in other languages: SQL."""
