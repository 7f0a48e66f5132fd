"""A service: a model asked by many and taught by one, which loses nothing it has acknowledged."""
