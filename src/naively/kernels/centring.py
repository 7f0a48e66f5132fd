"""Covariances from exact sums of products: centred in the limbs, rounded once."""

from naively.kernels.native import centre

__all__ = ["centre"]
