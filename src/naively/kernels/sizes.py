"""Numbers that kernels agree on."""

LANES = 8
"""float64 that are one value inside a kernel."""
TILE = 8
"""Rows of a tile of 8 by 16 numbers: sixteen vectors, two a row."""
BLOCK = 64
"""Bytes that are one value inside a kernel."""
MISSING, INVALID = -1, -2
"""In place of the code of a level."""
CODES = 1 << 53
"""Codes of levels are below: floats hold them exactly."""
