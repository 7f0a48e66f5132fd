"""Numbers that kernels agree on."""

LANES = 8
"""float64 that are one value inside a kernel."""
TILE = 8
"""Rows of a tile of 8 by 16 numbers: sixteen vectors, two a row."""
CODES = 1 << 53
"""Codes of levels are below: floats hold them exactly."""
